-- The audit log is append-only.
create function audit_is_append_only() returns trigger language plpgsql as
$$ begin raise exception 'the audit log is append-only'; end $$;
create trigger audit_kept before update or delete on audit for each row execute function audit_is_append_only();
