-- The versions of purged packages. They never come back with other contents, and their name only for its last owners.
create table tombstone (
    kind text not null,
    name text not null,
    version text not null,
    digest text not null,
    owners text not null,
    primary key (kind, name, version)
);

-- The status that a quarantined package gets back when its quarantine ends.
create table quarantine (
    package bigint primary key references package (id) on delete cascade,
    status text not null,
    reason text not null
);
insert into quarantine (package, status, reason) select id, 'active', '' from package where status = 'quarantined';
