"""On Kubernetes: HeadraceChannel objects of a cluster become objects of a Headrace, whose status is written back."""
