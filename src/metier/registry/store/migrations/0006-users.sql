-- People who sign in. The name is their namespace and never changes; issuer and subject identify them.
create table registry_user (
    id {identity},
    issuer text not null,
    subject text not null,
    name text not null unique,
    email text not null,
    scopes text not null,
    created bigint not null,
    signed_in bigint,
    disabled bigint,
    unique (issuer, subject)
);

-- A token that belongs to a user is revoked with them.
alter table token add column user_id bigint references registry_user (id);
alter table token add column used bigint;
create index token_user on token (user_id);
