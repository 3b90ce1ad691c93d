package release

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// generated are the CRDs of the API types.
const generated = "shared/api/crds"

// frozen has a folder for each version of the kinds, with the objects that it leaves in clusters. Later versions are
// tested against it.
const frozen = "e2e/compatibility/testdata"

// checkFrozen compares the CRDs of a release with the CRDs that are stored for the tests of later releases.
func checkFrozen(root string, release Release) ([]Refusal, error) {
	if release.Directory != "shared" {
		return nil, nil
	}
	kept := path.Join(frozen, release.Version, "crds")
	changed, err := differences(filepath.Join(root, generated), filepath.Join(root, kept))
	if err != nil || len(changed) == 0 {
		return nil, err
	}
	if !exists(root, kept) {
		return []Refusal{refuse(kept,
			"nothing is kept of this version for the tests of later ones: run 'make freeze RELEASE=%s'",
			release.Version)}, nil
	}
	return []Refusal{refuse(kept, "%s not as in %s: run 'make freeze RELEASE=%s' again",
		someOf(changed), generated, release.Version)}, nil
}

// differences names the YAML files that differ between two folders.
func differences(one, other string) ([]string, error) {
	var different []string
	for _, pair := range [][2]string{{one, other}, {other, one}} {
		found, err := filepath.Glob(filepath.Join(pair[0], "*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			here, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			there, err := os.ReadFile(filepath.Join(pair[1], filepath.Base(file)))
			if err != nil && !os.IsNotExist(err) {
				return nil, err
			}
			if (err != nil || !bytes.Equal(here, there)) && !slices.Contains(different, filepath.Base(file)) {
				different = append(different, filepath.Base(file))
			}
		}
	}
	return different, nil
}
