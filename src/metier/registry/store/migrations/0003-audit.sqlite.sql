-- The audit log is append-only.
create trigger audit_kept before update on audit begin select raise (abort, 'the audit log is append-only'); end;
create trigger audit_stays before delete on audit begin select raise (abort, 'the audit log is append-only'); end;
