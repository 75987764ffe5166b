/**
 * What a sandbox is to the tool, whoever runs it: containers that live for a while, files in and out, commands
 * (contract/tools 3.6). The local one stands in `local/`, one behind HTTP in `remote-sandbox.ts`.
 */

/** Whose a container is: an organization bears its cost, a workspace alone may use it. */
export interface ContainerOwner {
  readonly organizationId: string
  readonly workspaceId: string
}

export interface Container {
  /** `[\w-]{1,20}` */
  readonly id: string
  readonly expiresAtUnixMs: number
}

export interface ContainerFile {
  /** Below the working directory, without `.` and `..`: `plots/a.png`. */
  readonly path: string
  readonly sizeBytes: number
}

export interface SandboxCommand {
  /** For `bash -c`; no NUL. */
  readonly command: string
  /** Wall clock of the command and of waiting for its turn; unpacking and packing the container come on top. */
  readonly timeoutMs: number
  /** Of each of its two outputs; head and tail are kept. */
  readonly maxOutputBytes: number
  /** Hosts that may be reached, with what is below them; none: there is no network. */
  readonly allowedDomains: readonly string[]
}

/** One connection that a command has had, for the audit. */
export interface Egress {
  readonly host: string
  readonly sentBytes: number
  readonly receivedBytes: number
  /** Why it was refused or cut. */
  readonly refused?: string
}

export interface SandboxRun {
  readonly stdout: string
  readonly stderr: string
  /** As a shell tells it; null where the command was ended with its sandbox. */
  readonly exitCode: number | null
  /** Why the sandbox was ended before its time; the container is then as it was before the command. */
  readonly ended?: 'timeout' | 'memory' | 'quota' | 'aborted' | 'broken'
  /** Files that are new or were written by the command. */
  readonly changed: readonly ContainerFile[]
  readonly egress: readonly Egress[]
}

type SandboxFailureCode =
  | 'container_expired' // unknown, over, or another workspace's
  | 'too_many_containers'
  | 'busy'
  | 'quota_exceeded'
  | 'not_found'
  | 'unavailable'

/** An expected failure of a sandbox. Its message is for the model. */
export class SandboxFailure extends Error {
  constructor(
    readonly code: SandboxFailureCode,
    message: string,
  ) {
    super(message)
  }
}

/** Every method rejects with a `SandboxFailure`, or with what is a defect. */
export interface Sandbox {
  /** In a word, for the pipeline of a request. */
  readonly name: string
  create(owner: ContainerOwner): Promise<Container>
  /** Runs when the container is free. Ends within a second once the signal is aborted. */
  run(
    owner: ContainerOwner,
    containerId: string,
    command: SandboxCommand,
    signal: AbortSignal,
  ): Promise<SandboxRun & { readonly container: Container }>
  put(owner: ContainerOwner, containerId: string, path: string, bytes: Uint8Array): Promise<void>
  get(owner: ContainerOwner, containerId: string, path: string, maxBytes: number): Promise<Buffer>
  delete(owner: ContainerOwner, containerId: string): Promise<void>
  /** Ends what runs. */
  close(): Promise<void>
}
