/** What the operator says of the sandbox: members of `tools.bash`. */
import { z } from 'zod'
import { baseUrl, integerBetween, orNull, variableName } from '../../catalog/configuration/values.js'

const HOST = /^(?:[a-z0-9](?:[a-z0-9-]{0,62})?(?:\.[a-z0-9](?:[a-z0-9-]{0,62})?)*|[0-9a-f:]{2,45})$/

const host = z
  .string()
  .max(253)
  .regex(HOST, 'must be the name of a host in lower case, without a scheme, a port and *')

/** Members of `tools.bash` beside those of every tool. */
export const bashMembers = {
  url: orNull(baseUrl).describe(
    'Where remote sandboxes are asked for; those of this machine are used when absent.',
  ),
  api_key_env: orNull(variableName).describe('Environment variable that holds the credential for `url`.'),
  allowed_domains: z
    .array(host)
    .max(1_000)
    .default([])
    .describe('Hosts, with all below them, that requests may let their commands reach. None when absent.'),
  uid: orNull(integerBetween(1, 2 ** 31 - 1)).describe(
    'Who runs sandboxes, where the server itself runs as root: a uid and gid that nobody else has. 64321 when absent.',
  ),
  memory_mib: integerBetween(64, 1_048_576).default(512).describe('Memory of all processes of a command.'),
  disk_mib: integerBetween(1, 65_536)
    .default(64)
    .describe('Bytes of a container, and of all else a command writes.'),
  files: integerBetween(64, 1_000_000).default(4_096).describe('Files and folders of a container.'),
  processes: integerBetween(16, 4_096).default(64).describe('Processes and threads of a command at a time.'),
  cpu_seconds: integerBetween(1, 3_600).default(60).describe('Processor time of each process.'),
  max_output_bytes: integerBetween(1_024, 1_048_576)
    .default(32_768)
    .describe('Of each of the two outputs that the model is shown; head and tail are kept.'),
  max_file_mib: integerBetween(1, 100).default(16).describe('Largest file that goes in or comes out.'),
  container_minutes: integerBetween(1, 1_440)
    .default(20)
    .describe('How long a container lives after its last use.'),
  containers: integerBetween(1, 10_000).default(64).describe('Containers of this machine.'),
  containers_per_organization: integerBetween(1, 10_000)
    .default(16)
    .describe('Of them, most of one organization.'),
  runs: integerBetween(1, 1_000).default(4).describe('Commands at a time, over all workers.'),
  runs_per_organization: integerBetween(1, 1_000).default(2).describe('Of them, most of one organization.'),
  egress_mib: integerBetween(1, 65_536).default(64).describe('Bytes that a command may exchange with hosts.'),
  egress_connections: integerBetween(1, 256).default(16).describe('Connections of a command at a time.'),
} as const satisfies z.ZodRawShape
