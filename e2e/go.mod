module packtree.dev/e2e

go 1.26.0

require packtree.dev/shared v0.0.0

replace packtree.dev/shared => ../shared
