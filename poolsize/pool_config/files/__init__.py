"""Reading the settings of pools from configuration files and source code."""
