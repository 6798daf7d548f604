"""What `ullage compile` wrote, one package per engine. Never edited by hand."""
