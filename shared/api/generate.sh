#!/bin/sh
# Generates what follows from the API types: deep copies, CRDs, the clientset, listers and informers, and the reference in docs/api.
# The generators come from Go modules pinned in e2e/tools/codegen.
set -eu
export GOWORK=off CGO_ENABLED=0 GOFLAGS=
root=$(cd "$(dirname "$0")/../.." && pwd)
tools=$root/bin/codegen
mkdir -p "$tools"
go -C "$root/e2e/tools/codegen" build -o "$tools/" tool

cd "$root/shared"
header=api/boilerplate.go.txt
"$tools/controller-gen" "object:headerFile=$header" paths=./api/...
rm -f api/crds/*.yaml
"$tools/controller-gen" crd:generateEmbeddedObjectMeta=true,allowDangerousTypes=true paths=./api/... output:crd:dir=api/crds

go run ./api/trimcrds api/crds/*.yaml
go run ./api/opencrds api/crds/grove.io_podcliquesets.yaml api/crds/nvidia.com_dynamographdeployments.yaml \
	api/crds/scheduling.run.ai_podgroups.yaml

inputs=""
for dir in api/grove/v1alpha1 api/grovescheduler/v1alpha1 api/kai/v1alpha1 api/scheduling/v2alpha2 api/dynamo/v1alpha1 api/dynamo/v1beta1; do
	[ -f "$dir/doc.go" ] && inputs="$inputs packtree.dev/shared/$dir"
done
# Made aside and moved into place, so that a build meanwhile finds the old clients or the new ones.
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$tools/client-gen" --go-header-file "$header" --clientset-name versioned --input-base "" \
	--input "$(echo $inputs | tr ' ' ',')" \
	--output-dir "$made/client/clientset" --output-pkg packtree.dev/shared/client/clientset
"$tools/lister-gen" --go-header-file "$header" --output-dir "$made/client/listers" --output-pkg packtree.dev/shared/client/listers $inputs
"$tools/informer-gen" --go-header-file "$header" --output-dir "$made/client/informers" --output-pkg packtree.dev/shared/client/informers \
	--versioned-clientset-package packtree.dev/shared/client/clientset/versioned \
	--listers-package packtree.dev/shared/client/listers $inputs
gofmt -w "$made/client"
rm -rf client
mv "$made/client" client

# The charts carry the CRDs that they install: their own, and KAI's where a component needs them without the scheduler's chart.
while read -r folder crds; do
	[ -d "$root/charts/${folder%%/*}" ] || continue
	rm -rf "$root/charts/$folder"
	mkdir -p "$root/charts/$folder"
	for crd in $crds; do cp "api/crds/$crd.yaml" "$root/charts/$folder/"; done
done <<CHARTS
dynamo-operator/files/crds nvidia.com_dynamographdeployments nvidia.com_dynamographdeploymentscalingadapters nvidia.com_dynamoworkermetadatas
grove-operator/files/crds grove.io_podcliquesets grove.io_podcliques grove.io_podcliquescalinggroups grove.io_clustertopologies grove.io_clustertopologybindings scheduler.grove.io_podgangs
grove-operator/files/crds-kai kai.scheduler_topologies scheduling.run.ai_podgroups
podgrouper/files/crds-kai kai.scheduler_topologies scheduling.run.ai_podgroups
kai-topology-plugin/files/crds kai.scheduler_topologies scheduling.run.ai_podgroups
CHARTS

# A page per group and version; a group that is no longer there loses its page.
rm -f "$root"/docs/api/*_*.md
mkdir -p "$root/docs/api"
for dir in api/*/v*/; do
	version=$(basename "$dir")
	group=$(sed -n 's|^// +groupName=||p' "$dir/doc.go")
	"$tools/crd-ref-docs" --log-level ERROR --renderer markdown --max-depth 25 \
		--config api/reference/config.yaml --templates-dir api/reference \
		--source-path "./$dir" --output-path "$root/docs/api/${group}_$version.md"
done

# The types that a version shares with another one stand on the page of that one.
for page in "$root"/docs/api/*_*.md; do
	for other in "${page%_*}"_*.md; do
		[ "$other" != "$page" ] || continue
		for type in $(sed -n 's/^## //p' "$other"); do
			anchor=$(printf %s "$type" | tr '[:upper:]' '[:lower:]')
			grep -qx "## $type" "$page" || sed -i "s|](#$anchor)|]($(basename "$other")#$anchor)|g" "$page"
		done
	done
done
