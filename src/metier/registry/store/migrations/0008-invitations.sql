-- Links that make a user once. Only their hashes are kept.
create table invitation (
    hashed text primary key,
    scopes text not null,
    note text not null,
    created bigint not null,
    expires bigint not null,
    creator bigint references token (id) on delete cascade
);
