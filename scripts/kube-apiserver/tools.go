//go:build tools

// Package tools names the programs that are built, so that their modules are pinned.
package tools

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
)
