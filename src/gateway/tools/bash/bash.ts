/** Lets a model run commands in a sandbox (contract/tools 3.6): `bash`, and `shell` of the messages format. */
import type { Principal } from '../../../base/principal.js'
import type { JsonObject } from '../../formats/json-values.js'
import type { RequestedTool } from '../../formats/tooling.js'
import type {
  CreatedFile,
  PreparedTool,
  ServerTool,
  ToolCallInput,
  ToolFunction,
  ToolOutcome,
  ToolRefusal,
  ToolRequest,
  ToolRun,
} from '../port/tool.js'
import { isAllowedHost } from './allowed-hosts.js'
import {
  type Container,
  type ContainerOwner,
  type Egress,
  type Sandbox,
  SandboxFailure,
  type SandboxRun,
} from './sandbox.js'

export interface BashSettings {
  readonly allowedDomains: readonly string[]
  readonly maxOutputBytes: number
  readonly maxFileBytes: number
}

interface BashParts {
  settings(): BashSettings
  /** The sandbox, or why there is none, which goes on from the tool: "is not available here: …". Never rejects. */
  sandbox(): Promise<Sandbox | string>
  /** Workspace of a caller; null where its organization has none. */
  workspaceOf(caller: Principal): string | null
  /** Hears of what is a defect of ours. */
  onDefect(error: unknown): void
}

/** An argument of a program holds 128 KiB on Linux. */
const LONGEST_COMMAND = 100_000
/** Left of a call's time for unpacking and packing the container. */
const RESERVED_MS = 3_000
const MOST_FILES_IN = 20
const MOST_FILES_OUT = 20
/** Names of files beyond those that are told. */
const MOST_NAMES = 50

const DESCRIPTION =
  'Runs a command with bash in a sandbox of Linux. Files in the working directory are kept for the next call; ' +
  'processes are not. New and changed files of the working directory become files of the user.'

function functionNamed(name: string): ToolFunction {
  return {
    name,
    description: DESCRIPTION,
    parameters: {
      type: 'object',
      properties: { command: { type: 'string', description: 'The command, as for bash -c.' } },
      required: ['command'],
    },
  }
}

/** @param name `bash` or `shell`: one tool by two names */
export function createBashTool(name: 'bash' | 'shell', parts: BashParts): ServerTool {
  return {
    name,
    async prepare(asked, request) {
      const environment = environmentOf(asked)
      const refusal = refuse(asked, environment, parts.settings())
      if (refusal !== null) return refusal
      const sandbox = await parts.sandbox()
      if (typeof sandbox === 'string') return { refused: sandbox }
      const owner = ownerOf(request, parts)
      if (owner === null) return { refused: 'needs a workspace' }
      return new PreparedBash(name, parts, sandbox, owner, environment)
    },
  }
}

interface Environment {
  readonly containerId: string | null
  readonly fileIds: readonly string[]
  readonly allowedDomains: readonly string[]
}

/** The schema of the request has checked the shape (inference-http). */
function environmentOf({ parameters }: RequestedTool): Environment {
  const environment = (parameters.environment ?? {}) as JsonObject
  const policy = (environment.network_policy ?? {}) as JsonObject
  return {
    containerId: (environment.container_id as string | undefined) ?? null,
    fileIds: (environment.file_ids as readonly string[] | undefined) ?? [],
    allowedDomains: (policy.allowed_domains as readonly string[] | undefined) ?? [],
  }
}

function refuse(
  { parameters }: RequestedTool,
  { fileIds, allowedDomains }: Environment,
  settings: BashSettings,
): ToolRefusal | null {
  if (parameters.engine === 'native') {
    return {
      refused: 'must be auto or service: no provider runs this tool',
      member: ['parameters', 'engine'],
    }
  }
  const environment = ['parameters', 'environment'] as const
  if (fileIds.length > MOST_FILES_IN) {
    return { refused: `must have at most ${MOST_FILES_IN} items`, member: [...environment, 'file_ids'] }
  }
  const forbidden = allowedDomains.findIndex((host) => !isAllowedHost(host, settings.allowedDomains))
  if (forbidden === -1) return null
  const member = [...environment, 'network_policy', 'allowed_domains', forbidden]
  return { refused: 'is not among the hosts of tools.bash.allowed_domains', member }
}

function ownerOf({ caller }: ToolRequest, parts: BashParts): ContainerOwner | null {
  const workspaceId = parts.workspaceOf(caller)
  return workspaceId === null ? null : { organizationId: caller.organizationId, workspaceId }
}

/** All calls of a request use one container, one after the other. */
class PreparedBash implements PreparedTool {
  readonly functions: readonly ToolFunction[]
  readonly backend: string
  readonly #parts: BashParts
  readonly #sandbox: Sandbox
  readonly #owner: ContainerOwner
  readonly #environment: Environment
  #containerId: string | null
  /** Files of the caller that are in the container. */
  #filled = false
  #turn: Promise<unknown> = Promise.resolve()

  constructor(
    name: string,
    parts: BashParts,
    sandbox: Sandbox,
    owner: ContainerOwner,
    environment: Environment,
  ) {
    this.functions = [functionNamed(name)]
    this.backend = sandbox.name
    this.#parts = parts
    this.#sandbox = sandbox
    this.#owner = owner
    this.#environment = environment
    this.#containerId = environment.containerId
  }

  fee(): number {
    return 0
  }

  run(call: ToolCallInput, run: ToolRun): Promise<ToolOutcome> {
    const { command } = call.arguments
    if (
      typeof command !== 'string' ||
      command.includes('\0') ||
      Buffer.byteLength(command) > LONGEST_COMMAND
    ) {
      const error = `command must be a text of at most ${LONGEST_COMMAND} bytes without NUL`
      return Promise.resolve({ content: { error }, isError: true, executed: false, charged: 0 })
    }
    let wasAsked = false
    const asked = (): void => {
      wasAsked = true
    }
    const outcome = this.#turn
      .then(() => this.#runCommand(command, run, asked))
      .catch((error) => this.#failed(error, wasAsked, run.signal))
    this.#turn = outcome
    return outcome
  }

  /** `asked` hears when the sandbox has the command. */
  async #runCommand(command: string, run: ToolRun, asked: () => void): Promise<ToolOutcome> {
    run.signal.throwIfAborted()
    const { maxOutputBytes } = this.#parts.settings()
    this.#containerId ??= (await this.#sandbox.create(this.#owner)).id
    const missing = await this.#fill(this.#containerId, run)
    if (missing !== null) return { content: { error: missing }, isError: true, executed: false, charged: 0 }
    const { allowedDomains } = this.#environment
    asked()
    const result = await this.#sandbox.run(
      this.#owner,
      this.#containerId,
      {
        command,
        timeoutMs: Math.max(1_000, Math.min(MOST_MS, run.deadlineAt - performance.now() - RESERVED_MS)),
        maxOutputBytes,
        allowedDomains,
      },
      run.signal,
    )
    const { created, left } = await this.#keepFiles(result, run)
    return outcomeOf(result, created, left)
  }

  /** Puts the caller's files in, once. Resolves to what is wrong with them. */
  async #fill(containerId: string, run: ToolRun): Promise<string | null> {
    if (this.#filled) return null
    const names = new Set<string>()
    for (const id of this.#environment.fileIds) {
      const found = await run.files.read(id, this.#parts.settings().maxFileBytes)
      if (found === null) return `There is no file ${JSON.stringify(id)} here, or it is too large.`
      const name = plainName(found.file.filename)
      const path = names.has(name) ? `${id}-${name}` : name
      names.add(path)
      await this.#sandbox.put(this.#owner, containerId, path, found.bytes)
    }
    this.#filled = true
    return null
  }

  /** What the command has written becomes files of the workspace, within bounds; the others stay in the container. */
  async #keepFiles(
    { changed }: SandboxRun,
    run: ToolRun,
  ): Promise<{ created: (CreatedFile & { path: string })[]; left: string[] }> {
    const created: (CreatedFile & { path: string })[] = []
    const left: string[] = []
    for (const { path, sizeBytes } of changed) {
      if (/(?:^|\/)(?:\.|__pycache__\/)/.test(path) || sizeBytes === 0) continue
      const { maxFileBytes } = this.#parts.settings()
      if (created.length >= MOST_FILES_OUT || sizeBytes > maxFileBytes || run.signal.aborted) {
        left.push(path)
        continue
      }
      try {
        const bytes = await this.#sandbox.get(this.#owner, this.#containerId!, path, maxFileBytes)
        created.push({ ...(await run.files.create(path.split('/').at(-1)!, bytes)), path })
      } catch {
        left.push(path) // no room, or it has gone
      }
    }
    return { created, left }
  }

  #failed(error: unknown, wasAsked: boolean, signal: AbortSignal): ToolOutcome {
    const known = error instanceof SandboxFailure
    const isAbort = signal.aborted || (error instanceof Error && error.name === 'AbortError')
    if (!known && !isAbort) this.#parts.onDefect(error)
    const content = known
      ? { error: error.code, message: error.message }
      : { error: isAbort ? 'The command was cancelled.' : 'The sandbox failed.' }
    const executed = wasAsked && !(known && NOT_RUN.has(error.code))
    return { content, isError: true, executed, charged: 0 }
  }
}

/** The sandbox says that it has not begun the command. */
const NOT_RUN: ReadonlySet<string> = new Set<SandboxFailure['code']>(['busy', 'container_expired'])

/** For the audit: `example.com:443, 812 bytes sent, 4096 received`. */
function told({ host, sentBytes, receivedBytes, refused }: Egress): string {
  return `${host}, ${refused === undefined ? `${sentBytes} bytes sent, ${receivedBytes} received` : refused}`
}

const MOST_MS = 3_600_000

/** Names of uploads are the caller's: no folders, and nothing that stands for one. */
function plainName(filename: string): string {
  const last = filename.split('/').at(-1)!.replaceAll('\0', '_')
  return last === '' || last === '.' || last === '..' ? 'file' : last
}

const ENDINGS: Readonly<Record<NonNullable<SandboxRun['ended']>, string>> = {
  timeout: 'The command took too long and was ended.',
  memory: 'The command used too much memory and was ended; files it wrote are lost.',
  quota:
    'The files of the working directory are more than the container holds; those of this command are lost.',
  aborted: 'The command was cancelled.',
  broken: 'The sandbox ended before the command; files it wrote are lost.',
}

function outcomeOf(
  { stdout, stderr, exitCode, ended, container, egress }: SandboxRun & { readonly container: Container },
  created: readonly (CreatedFile & { readonly path: string })[],
  left: readonly string[],
): ToolOutcome {
  const refused = egress.filter((entry) => entry.refused !== undefined)
  const content = {
    ...(ended !== undefined && { error: ENDINGS[ended] }),
    ...{ stdout, stderr, exit_code: exitCode, container_id: container.id },
    files: created.map(({ id, path, sizeBytes }) => ({ id, path, size_bytes: sizeBytes })),
    ...(left.length > 0 && { files_left_in_container: left.slice(0, MOST_NAMES) }),
    ...(refused.length > 0 && {
      network_refused: refused.slice(0, MOST_NAMES).map(({ host, refused: reason }) => ({ host, reason })),
    }),
  }
  const files = created.map(({ path: _, ...file }) => file)
  return {
    content,
    isError: ended !== undefined,
    executed: true,
    charged: 0,
    files,
    reached: egress.map(told),
  }
}
