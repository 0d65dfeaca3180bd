"""Containers, clusters, clouds, databases: their command lines reach further than this machine."""

from __future__ import annotations

from .program import Operands, Program

__all__ = ["SERVICES"]

_PURPOSE, _COMMAND, _READ, _ASK = Operands.PURPOSE, Operands.COMMAND, Operands.READ, Operands.ASK
_ANSWERS = "-h --help --version"
_LIST = (
    "-a -q -f: -n: -l -s --all --quiet --filter= --format= --last= --latest --no-trunc --size --digests "
    "--tree --since= --until= --tail= --follow -t --timestamps --details --type= --no-stream"
)


def _docker(names: str) -> Program:
    """Containers share folders and devices with the host if an option says so, so running one is asked."""
    return Program(
        names=names,
        safe=f"{_ANSWERS} -v -D --debug -l: --log-level=",
        starts="-H: --host= -c: --context= --url= --connection= --config= --tls? --tlscacert= --tlscert= --tlskey= "
        "--tlsverify? --root= --runroot= --runtime= --hooks-dir= --conmon= --storage-opt= --identity=",
        commands=(
            Program(names="ps images logs inspect top stats port diff history version info events search", safe=_LIST),
            Program(
                names="start stop restart kill pause unpause wait rm rmi pull tag",
                safe="-f -q -t: -s: -a -i --force --time= --signal= --platform= --all-tags --quiet --volumes --link",
                operands=_PURPOSE,
                same="-f/--force",
            ),
            Program(
                names="run create",
                safe="-i -t -d --rm --interactive --tty --detach --name= -w: --workdir= --platform= --pull= --quiet -q "
                "--memory= -m: --cpus= --read-only --init --hostname= -h:",
                starts="--privileged -v: --volume= --mount= --device= --cap-add= --security-opt= --pid= --ipc= --userns= "
                "--network= --net= --entrypoint= -e: --env= --env-file= -p: --publish= -P --publish-all --cgroup-parent= "
                "--add-host= --volumes-from= --runtime= --gpus= -u: --user= --group-add= --uts= --volume-driver= "
                "--log-driver= --log-opt= --health-cmd= --sysctl= --dns=",
                writes="--cidfile= --iidfile=",
                operands=_COMMAND,
            ),
            Program(
                names="exec",
                safe="-i -t -d --interactive --tty --detach",
                starts="--privileged -u: --user= -e: --env= --env-file= -w: --workdir=",
                operands=_COMMAND,
                lead=1,
            ),
            Program(
                names="container image volume network system context builder",
                safe="",
                commands=(Program(names="ls list inspect logs df info top stats port history", safe=f"{_LIST} -v"),),
            ),
            # A build runs what the Dockerfile says.
            Program(
                names="build buildx bake compose push login logout save load export import commit cp plugin swarm stack service",
                operands=_ASK,
            ),
        ),
    )


def _cloud(names: str) -> Program:
    return Program(names=names, operands=_ASK, safe=f"{_ANSWERS}")


SERVICES = (
    _docker("docker"),
    _docker("podman nerdctl"),
    Program(names="docker-compose podman-compose", operands=_ASK, safe=_ANSWERS),
    Program(
        names="kubectl oc k3s",
        safe=f"{_ANSWERS} -v: -n: --namespace= --request-timeout= -A --all-namespaces",
        starts="--kubeconfig= --context= --cluster= --user= --as= --as-group= --token= -s: --server= "
        "--certificate-authority= --client-certificate= --client-key= --insecure-skip-tls-verify? --cache-dir= "
        "--profile= --profile-output=",
        inherits=True,
        commands=(
            Program(
                names="logs",
                safe="-f -p -c: -l: --follow --previous --container= --tail= --since= --since-time= --timestamps "
                "--all-containers --prefix --selector= --max-log-requests=",
            ),
            Program(
                names="get describe top version explain api-resources api-versions cluster-info events",
                safe="-o: -l: -w -f -p -c: -L: --output= --selector= --watch --show-labels --no-headers --sort-by= "
                "--field-selector= --follow --previous --container= --tail= --since= --since-time= --timestamps "
                "--all-containers --prefix --raw= --recursive --client --containers --show-kind --ignore-not-found "
                "--label-columns= --short",
                starts="-f: --filename= -k: --kustomize=",
            ),
            Program(
                names="config",
                commands=(
                    Program(
                        names="view current-context get-contexts get-clusters get-users",
                        safe="--minify -o: --output=",
                        starts="--raw",
                    ),
                ),
            ),
            Program(names="auth", commands=(Program(names="can-i whoami", safe="--list"),)),
            Program(names="rollout", commands=(Program(names="status history", safe="-w --watch --timeout= --revision="),)),
            Program(
                names="exec run debug attach",
                operands=_COMMAND,
                safe="-i -t --stdin --tty -c: --container= --image= --rm",
                lead=0,
            ),
            Program(
                names="delete apply create edit patch replace scale drain cordon uncordon taint label annotate set expose "
                "port-forward proxy cp plugin krew autoscale wait diff kustomize",
                operands=_ASK,
                same="-f/--filename",
            ),
        ),
    ),
    Program(
        names="helm",
        safe=f"{_ANSWERS} -n: --namespace= --debug",
        starts="--kubeconfig= --kube-context= --kube-apiserver= --kube-token= --registry-config= --repository-config=",
        inherits=True,
        commands=(
            Program(
                names="list ls status history get show search version env lint template",
                safe="-A -a -o: -q --all --all-namespaces --output= --short --revision= --max= --devel",
                starts="--post-renderer= --post-renderer-args=",
                writes="--output-dir=",
            ),
            Program(
                names="install upgrade uninstall delete rollback plugin repo pull push package create test dependency registry",
                operands=_ASK,
            ),
        ),
    ),
    # A plan starts provider programs and external data sources, but only those of the configuration.
    Program(
        names="terraform tofu terragrunt",
        long_dash=True,
        safe="-help -version --help --version",
        starts="-chdir:",
        commands=(
            Program(
                names="validate fmt version show output providers graph",
                long_dash=True,
                safe="-json -no-color -check -diff -recursive -raw",
                writes="-write:",
            ),
            Program(
                names="plan",
                long_dash=True,
                safe="-no-color -input: -lock: -refresh: -detailed-exitcode -compact-warnings -parallelism: -destroy -json",
                writes="-out: -state: -generate-config-out:",
                starts="-var-file: -var:",
            ),
            Program(names="state", commands=(Program(names="list show", long_dash=True, safe="-no-color -json"),)),
            Program(names="workspace", commands=(Program(names="list show"),)),
            Program(
                names="init apply destroy import taint untaint console get login logout force-unlock refresh test",
                operands=_ASK,
            ),
        ),
    ),
    Program(
        names="aws",
        safe=f"{_ANSWERS} --output= --region= --profile= --no-cli-pager --query= --no-paginate --debug --color= "
        "--no-cli-auto-prompt",
        starts="--endpoint-url= --cli-input-json= --cli-input-yaml= --ca-bundle= --no-verify-ssl",
        inherits=True,
        commands=(
            Program(names="sts", commands=(Program(names="get-caller-identity"),)),
            Program(
                names="s3",
                commands=(
                    Program(names="ls", safe="--recursive --human-readable --summarize"),
                    Program(names="cp mv rm sync mb rb presign website", operands=_ASK),
                ),
            ),
            Program(
                names="ec2 iam lambda rds ecs eks logs cloudformation s3api dynamodb sqs sns ssm secretsmanager configure",
                operands=_ASK,
            ),
        ),
    ),
    _cloud(
        "gcloud az doctl flyctl fly heroku vercel netlify wrangler firebase supabase railway pulumi ansible "
        "ansible-playbook vagrant packer vault consul nomad"
    ),
    Program(
        names="gh",
        safe=f"{_ANSWERS} -R: --repo=",
        inherits=True,
        commands=(
            Program(
                names="pr issue run release repo workflow label gist cache variable secret ruleset",
                commands=(
                    Program(
                        names="list view status checks diff watch",
                        safe="-L: -s: -l: -a: -A: -S: -q: -t: -c -w -j: --json= --jq= --template= --limit= --state= --label= "
                        "--author= --assignee= --search= --comments --web --name-only --log --log-failed --branch= --workflow= "
                        "--exit-status --required --interval= --patch --color= --job= -e: --event= -b: -u: --user=",
                        starts="--web -w",
                    ),
                    Program(
                        names="create edit comment close reopen merge review ready",
                        operands=_PURPOSE,
                        safe="-t: -b: -B: -H: -a: -l: -d -f -r: -m -s --title= --body= --base= --head= --label= --assignee= --draft "
                        "--fill --reviewer= --squash --merge --rebase --delete-branch --auto --approve --comment "
                        "--request-changes --subject= --milestone=",
                        starts="-F: --body-file= --editor -e --web -w --template= --recover=",
                    ),
                    Program(names="clone download checkout fork upload delete set rename archive sync", operands=_ASK),
                ),
            ),
            Program(names="auth", commands=(Program(names="status", safe="--hostname= --active"),)),
            Program(names="status search browse", safe="-L: --limit= --json= -n --no-browser"),
            # `gh api` sends any request; aliases and extensions are programs.
            Program(names="api alias extension ext codespace cs config ssh-key gpg-key copilot", operands=_ASK),
        ),
    ),
    Program(names="glab hub tea", operands=_ASK, safe=_ANSWERS),
    # `.shell`, `.output`, ATTACH and load_extension are SQL or dot commands, so code on the command line is asked.
    Program(
        names="sqlite3 duckdb",
        operands=_READ,
        most=1,
        long_dash=True,
        safe="-readonly -json -csv -header -column -table -line -version -help -batch -bail -separator: -noheader "
        "-box -markdown",
        starts="-cmd: -init: -A* -unsafe-testing",
        writes="-append -zip -vfs:",
    ),
    Program(
        names="psql mysql mariadb mongosh mongo redis-cli clickhouse-client pg_dump pg_restore mysqldump",
        operands=_ASK,
        safe=f"{_ANSWERS} -l --list",
    ),
)
