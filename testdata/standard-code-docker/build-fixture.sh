#!/bin/sh
# Builds the fixture image from the four bases that
# CYBERAGENT_STANDARD_CODE_{GO,NODE,PYTHON,RUST}_IMAGE_DIGEST name.
exec cyberagent fixture build "$@"
