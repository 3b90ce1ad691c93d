package status

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
)

func TestReached(t *testing.T) {
	breached := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: grovev1alpha1.ConditionMinAvailableBreached, Status: status}}
	}
	for name, c := range map[string]struct {
		before                      bool
		conditions                  []metav1.Condition
		had, have, toStart, minimum int32
		want                        bool
	}{
		"new, and not there yet":                            {toStart: 2, have: 1},
		"there for the first time":                          {toStart: 2, have: 2, want: true},
		"lost again":                                        {true, breached("False"), 2, 1, 2, 2, true},
		"lost for long":                                     {true, breached("True"), 1, 0, 2, 2, true},
		"lost during an update":                             {true, breached("Unknown"), 1, 0, 2, 2, true},
		"nothing is needed at zero":                         {true, breached("False"), 2, 0, 0, 0, true},
		"scaled out from zero":                              {true, breached("False"), 0, 0, 2, 2, false},
		"scaled out from below minAvailable":                {true, breached("False"), 1, 1, 3, 3, false},
		"scaled out while it lacked what it needed":         {true, breached("True"), 0, 0, 3, 3, true},
		"scaled out, and all pods were there in no time":    {true, breached("False"), 0, 3, 3, 3, true},
		"never there, at zero, and back":                    {false, breached("False"), 0, 0, 2, 2, false},
		"it goes on with fewer":                             {true, breached("False"), 3, 3, 4, 3, true},
		"with fewer it is not there for the first time":     {false, breached("False"), 3, 3, 4, 4, false},
		"nothing at zero makes a clique one that was there": {false, breached("False"), 0, 0, 0, 0, false},
	} {
		assert.Equal(t, c.want, reached(c.before, c.conditions, c.had, c.have, c.toStart, c.minimum), name)
	}
}
