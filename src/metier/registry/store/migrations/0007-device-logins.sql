-- Logins of devices that wait for a person with a browser (RFC 8628). Only hashes of device codes are kept.
create table device_login (
    hashed text primary key,
    user_code text not null unique,
    address text not null,
    expires bigint not null,
    polled bigint not null default 0,
    approver bigint references token (id) on delete cascade,
    scopes text not null default '',
    denied integer not null default 0
);
