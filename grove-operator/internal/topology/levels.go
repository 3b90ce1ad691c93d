package topology

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	grovev1alpha1 "packtree.dev/shared/api/grove/v1alpha1"
	"packtree.dev/shared/didyoumean"
	"packtree.dev/shared/domains"
)

// ValidateLevels returns what is wrong with the levels of a ClusterTopology, which are at path and in any order:
// unknown domains, repeated domains or keys, and keys that are no label keys or that the scheduler would not accept.
func ValidateLevels(path *field.Path, levels []grovev1alpha1.TopologyLevel) field.ErrorList {
	return validateLevels(path, levels, domains.All(), unknownDomain)
}

// ValidateFreeLevels returns what is wrong with the levels of a ClusterTopologyBinding, which are at path: as
// ValidateLevels, but domains have any name, and the order of the list, with numa last.
func ValidateFreeLevels(path *field.Path, levels []grovev1alpha1.TopologyLevel) field.ErrorList {
	var named []grovev1alpha1.TopologyDomain
	for _, level := range levels {
		if domainName.MatchString(string(level.Domain)) {
			named = append(named, level.Domain)
		}
	}
	errs := validateLevels(path, levels, domains.OrderOf(named), func(string) string {
		return "must begin with a lower case letter, and have nothing but lower case letters, " +
			"digits and hyphens behind it, up to 63 characters in all"
	})
	if i := slices.Index(named, grovev1alpha1.TopologyDomainNuma); i >= 0 && i < len(named)-1 {
		errs = append(errs, field.Invalid(path, domains.Numa, "its domains are inside of hosts: list it last"))
	}
	return errs
}

// domainName matches the domains of a ClusterTopologyBinding.
var domainName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)

func validateLevels(
	path *field.Path, levels []grovev1alpha1.TopologyLevel, order domains.Order, problem func(domain string) string,
) field.ErrorList {
	var errs field.ErrorList
	domainAt, keyAt := map[grovev1alpha1.TopologyDomain]int{}, map[string]int{}
	for i, level := range levels {
		domainPath, keyPath := path.Index(i).Child("domain"), path.Index(i).Child("key")
		first, twice := domainAt[level.Domain]
		switch {
		case !order.Known(string(level.Domain)):
			errs = append(errs, field.Invalid(domainPath, level.Domain, problem(string(level.Domain))))
		case twice:
			errs = append(errs, duplicate(domainPath, level.Domain, "domain", path.Index(first)))
		default:
			domainAt[level.Domain] = i
		}
		if first, twice := keyAt[level.Key]; twice {
			errs = append(errs, duplicate(keyPath, level.Key, "key", path.Index(first)))
		} else {
			keyAt[level.Key] = i
			errs = append(errs, validateKey(keyPath, level, levels, order)...)
		}
	}
	return errs
}

// duplicate is the error for a value that another level, at first, has already.
func duplicate(path *field.Path, value any, what string, first *field.Path) *field.Error {
	err := field.Duplicate(path, value)
	err.Detail = fmt.Sprintf(
		"%s must be unique across all levels, and %s has this one: remove one of the two levels, "+
			"or give one of them another %s", what, first, what)
	return err
}

func validateKey(
	path *field.Path, level grovev1alpha1.TopologyLevel, levels []grovev1alpha1.TopologyLevel, order domains.Order,
) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsQualifiedName(level.Key) {
		errs = append(errs, field.Invalid(path, level.Key, "must be the key of a node label: "+problem))
	}
	if problem := KeyProblem(level, levels, order); problem != "" {
		errs = append(errs, field.Invalid(path, level.Key, problem))
	}
	return errs
}

func unknownDomain(domain string) string {
	reason := "must be one of " + strings.Join(domains.All(), ", ")
	if closest, ok := didyoumean.Closest(domain, domains.All()); ok {
		reason += fmt.Sprintf("; did you mean %q?", closest)
	}
	return reason
}

// ValidateOrder returns the levels that come after a narrower one. Unknown and repeated domains are left out.
func ValidateOrder(path *field.Path, levels []grovev1alpha1.TopologyLevel) field.ErrorList {
	var errs field.ErrorList
	for i, level := range levels {
		if slices.ContainsFunc(levels[:i],
			func(above grovev1alpha1.TopologyLevel) bool { return above.Domain == level.Domain }) {
			continue
		}
		for _, above := range levels[:i] {
			if domains.All().Broader(string(level.Domain), string(above.Domain)) {
				errs = append(errs, field.Invalid(path.Index(i).Child("domain"), level.Domain, fmt.Sprintf(
					"levels must be listed broadest first: %s; move %s above %s",
					strings.Join(domains.All(), ", "), level.Domain,
					above.Domain)))
				break
			}
		}
	}
	return errs
}
