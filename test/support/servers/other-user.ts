/** The program as another user than the one that runs the tests: as a service has one. */
import { spawnSync } from 'node:child_process'
import { chownSync, lchownSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { type ProcessExit, ServerProcess } from '../../../src/base/server-process.js'
import { makeFolder, removeFolder, tempFolder } from '../data/temp-folder.js'
import { eventually } from '../timing/eventually.js'
import { KEYS, MAIN, serve } from './server-process.js'

/** Of the image. */
export const UID = 65_532
const ENV = { SLUICE_WORKERS: '1' }
const DEADLINE_MS = 60_000

const AS_OTHER = [`--reuid=${UID}`, `--regid=${UID}`, '--clear-groups']
const READS_PROGRAM = `fs.accessSync(${JSON.stringify(MAIN)})`

/** Numbers of rights that tests take from root, of capabilities(7). */
const RIGHTS = { chown: 0, sys_ptrace: 19 } as const

/** Options of `setpriv` for root without one of its rights. */
export const without = (right: keyof typeof RIGHTS): readonly string[] => [`--bounding-set=-${right}`]

/** Why root cannot run the program here without that right; false where it can. */
export function reasonAgainstLackOf(right: keyof typeof RIGHTS): string | false {
  // Where root may not give up rights (CAP_SETPCAP), `setpriv` goes on with all of them, and says nothing.
  const rights = `BigInt('0x' + /^CapEff:\\s*(.+)$/m.exec(fs.readFileSync('/proc/self/status', 'latin1'))[1])`
  return reasonAgainst(without(right), `if ((${rights} >> ${RIGHTS[right]}n) & 1n) process.exit(1)`)
}

/**
 * Why the program cannot be run here as the user of `setpriv`'s options on a folder of `folderOf`; false where it can.
 * Node or the checkout may lie where only root gets to, and containers take rights from root.
 */
function reasonAgainst(user: readonly string[], further = ''): string | false {
  if (!canGiveAway()) return `a file cannot be given to user ${UID} here`
  const script = [READS_PROGRAM, further].join('\n')
  const { status } = spawnSync('setpriv', [...user, process.execPath, '-e', script])
  return status === 0 ? false : `setpriv ${user.join(' ')} cannot run the program here`
}

function canGiveAway(): boolean {
  const folder = makeFolder()
  try {
    chownSync(folder, UID, UID)
    return true
  } catch {
    return false
  } finally {
    removeFolder(folder)
  }
}

/** The reason against the user of `folderOf`. */
export const WITHOUT_OTHER_USERS = reasonAgainst(AS_OTHER)

/** The data folder of a server that has served and ended; it belongs to that user with all it holds. */
export async function folderOf(t: Test, uid = UID): Promise<string> {
  const folder = tempFolder(t)
  const { server } = await serve(t, ENV, folder)
  await server.stop()
  const names = readdirSync(folder, { recursive: true }) as string[]
  for (const name of names) lchownSync(join(folder, name), uid, uid)
  chownSync(folder, uid, uid)
  return join(folder, 'data')
}

interface Run {
  readonly program: ServerProcess
  /** Null for a server that listens. */
  readonly ended: ProcessExit | null
}

/** Runs the program on a data folder as the user of `setpriv`'s options; resolves when it listens, or has ended. */
export async function runWith(
  t: Test,
  user: readonly string[],
  data: string,
  command: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Run> {
  const settings = { ...KEYS, ...ENV, PORT: '0', SLUICE_DATA_DIR: data, ...env }
  const variables = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
  const line = ['setpriv', ...user, 'env', '-i', ...variables, process.execPath, MAIN, ...command]
  const program = new ServerProcess(line, { cwd: dirname(data) })
  let ended: ProcessExit | null = null
  void program.closed.then((exit) => {
    ended = exit
  })
  t.after(async () => {
    program.signal('SIGTERM')
    await program.closed
  })
  await eventually(
    () => (ended !== null || program.stdout.includes('listening on') ? true : null),
    DEADLINE_MS,
  )
  return { program, ended }
}

/** As `runWith`, as the user of `folderOf`. */
export function runAs(t: Test, data: string, ...command: string[]): Promise<Run> {
  return runWith(t, AS_OTHER, data, command)
}
