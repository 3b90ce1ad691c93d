package counts

import (
	"strings"
)

// Path names a domain: the label values from the broadest level of the topology
// down to the domain's own level. Two racks of one name in two zones have two
// paths.
type Path []string

var pathEscaper = strings.NewReplacer("%", "%25", "/", "%2F")

// String joins the values with "/". Inside a value "%" and "/" are written %25
// and %2F, so that different paths of one topology never print alike.
func (p Path) String() string {
	escaped := make([]string, len(p))
	for i, value := range p {
		escaped[i] = pathEscaper.Replace(value)
	}
	return strings.Join(escaped, "/")
}
