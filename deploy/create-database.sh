#!/bin/sh
# Creates the database and its role. The image of PostgreSQL runs this once, when its volume is empty.
# Branchline does not connect as the superuser.
set -eu
psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" --dbname=postgres <<'SQL'
\set password `cat "$DATABASE_PASSWORD_FILE"`
create role branchline login password :'password';
create database branchline owner branchline encoding 'UTF8' locale 'C.UTF-8' template template0;
SQL
