"""Scripts in containers of podman or docker, in the place of the sandbox."""
