/** A program that serves one folder over IPC, and the process of a test that asks it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface PeerProcess<Request, Answer> {
  readonly child: ChildProcess
  /** One request at a time; rejects when the process dies before it answers. */
  ask(request: Request): Promise<Answer>
  /** Lets the process close what it has open and waits for its end. */
  end(): Promise<void>
}

export interface PeerOptions {
  /** Largest size a file of the process may have, in KiB: for it, the disk is full beyond that. */
  readonly fileKiB?: number
}

/** Starts the module at `url` for the folder at `path`; resolves when it is open. */
export async function startPeer<Request, Answer>(
  url: string,
  path: string,
  { fileKiB }: PeerOptions = {},
): Promise<PeerProcess<Request, Answer>> {
  // Node ignores SIGXFSZ, so that a write beyond the limit fails and does not kill. The test runner puts hooks into
  // the environment of all children, and one of them lets that signal kill.
  const limit = fileKiB === undefined ? '' : `ulimit -f ${fileKiB}; `
  const command = `${limit}exec env -u NODE_OPTIONS "$0" "$@"`
  const child = spawn('bash', ['-c', command, process.execPath, fileURLToPath(url), path], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  await once(child, 'message')
  return {
    child,
    ask: (request) =>
      new Promise((resolve, reject) => {
        const died = (): void => reject(new Error('the other process has died'))
        child.once('exit', died)
        child.once('message', ({ answer }: { answer: Answer }) => {
          child.off('exit', died)
          resolve(answer)
        })
        child.send(request as object)
      }),
    end: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}

/** What a peer has open: how it answers, and how it closes. */
export interface PeerService<Request> {
  answer(request: Request): unknown
  close(): Promise<unknown>
}

/** Serves when the module at `url` is the program of this process, and not imported by a test. */
export async function servePeer<Request>(
  url: string,
  open: (path: string) => PeerService<Request> | Promise<PeerService<Request>>,
): Promise<void> {
  const path = process.argv[2]
  if (process.argv[1] !== fileURLToPath(url) || path === undefined) return
  const service = await open(path)
  process.on('message', async (request: Request) => process.send?.({ answer: await service.answer(request) }))
  process.on('disconnect', () => void service.close().then(() => process.exit(0)))
  process.send?.('open')
}
