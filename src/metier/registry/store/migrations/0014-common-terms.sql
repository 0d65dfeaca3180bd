-- The share of packages that have a term in the name, in name, tags or description, or anywhere. Only common terms; the empty term
-- has the number of packages. Counted again by a job.
create table common_term (
    term text primary key,
    name double precision not null,
    front double precision not null,
    whole double precision not null
);
