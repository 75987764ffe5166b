/** The addresses that the server would listen on, and who has those that are taken. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { get as getHttp, type IncomingMessage } from 'node:http'
import { get as getHttps } from 'node:https'
import { listeningUrl, parseHostPort } from '../base/host-port.js'
import type { Config } from '../config/config.js'
import { folderHolder } from '../process/folder-lock.js'
import { probePort } from '../process/port-probe.js'
import { type Finding, fail, ok, warn } from './finding.js'

/** A health has a few hundred bytes. */
const MOST_BYTES = 65_536
/** State of a listening socket in /proc/net/tcp. */
const LISTENING = '0A'
/** What stands for every address, and the one by which such a listener is reached. */
const WILDCARDS: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

type PortSettings = Pick<Config, 'host' | 'port' | 'tlsKey' | 'consoleListen' | 'metrics' | 'lab' | 'dataDir'>

interface Place {
  readonly host: string
  readonly port: number
  /** Null where nothing tells by an answer that it is a server of ours. */
  readonly healthUrl: string | null
}

/**
 * Each address that the server would listen on.
 * @param signal ends questions that have no answer yet
 */
export async function examinePorts(config: PortSettings, signal: AbortSignal): Promise<readonly Finding[]> {
  const holder = holderOf(config.dataDir)
  return Promise.all(placesOf(config).map((place) => examinePlace(place, holder, signal)))
}

/** A folder that this user may not look into is told by the looks at the folder. */
function holderOf(dataDir: string): number | null {
  try {
    return folderHolder(dataDir)
  } catch {
    return null
  }
}

function placesOf(config: PortSettings): Place[] {
  const withHealth = ({ host, port }: Pick<Place, 'host' | 'port'>): Place => {
    const url = listeningUrl({ host: WILDCARDS[host] ?? host, tlsKey: config.tlsKey }, port)
    return { host, port, healthUrl: `${url}/api/v1/health` }
  }
  const console = parseHostPort(config.consoleListen)
  const others = [config.metrics, config.lab].map(parseHostPort).filter((place) => place !== null)
  return [
    withHealth(config),
    ...(console === null ? [] : [withHealth(console)]),
    ...others.map((place) => ({ ...place, healthUrl: null })),
  ]
}

/** @param holder process id of the server that works in the data folder; null where none does */
async function examinePlace(place: Place, holder: number | null, signal: AbortSignal): Promise<Finding> {
  const { host, port } = place
  try {
    await probePort(host, port)
    return ok('port', port === 0 ? `a free one of ${host}` : `${host}:${port} is free`)
  } catch (error) {
    const { message } = error as Error
    return holder === null
      ? fail('port', message, 'end the other program, or choose another port or host')
      : judgeListener(message, holder, await findListener(place, holder, signal))
  }
}

/** Who listens: that server, another program, nobody; `unseen` where this user may not look, and no answer tells. */
type Listener = 'server' | 'other' | 'nobody' | 'unseen'

/** @param problem why the address cannot be had */
export function judgeListener(problem: string, holder: number, listener: Listener): Finding {
  const server = `a server (process ${holder}) works in this data folder`
  switch (listener) {
    case 'server':
      return ok('port', `${problem}: ${server}, and listens there`)
    case 'other':
      return warn(
        'port',
        `${problem}, by another program: ${server}, and does not listen there`,
        'end the other program, or choose another port or host',
      )
    case 'nobody':
      return fail('port', problem, 'choose another port or host')
    case 'unseen':
      return warn(
        'port',
        `${problem}: ${server}, and whether it listens there cannot be seen`,
        'look as the user of that server, or as root',
      )
  }
}

async function findListener(
  { port, healthUrl }: Place,
  holder: number,
  signal: AbortSignal,
): Promise<Listener> {
  const sockets = listeningSockets(port)
  if (sockets?.size === 0) return 'nobody'
  const isHolders = sockets === null ? null : ownsSocket(holder, sockets)
  if (isHolders !== null) return isHolders ? 'server' : 'other'
  // The processes of another user do not show their sockets.
  return healthUrl === null ? 'unseen' : askListener(healthUrl, signal)
}

/**
 * Inodes of the sockets that listen on a port, of whatever address; null where the system does not tell.
 * @param read gives the text of a table
 */
export function listeningSockets(
  port: number,
  read = (path: string): string => readFileSync(path, 'latin1'),
): ReadonlySet<string> | null {
  try {
    const rows = [...rowsOf(read('/proc/net/tcp')), ...rowsOf(readUnlessAbsent(read, '/proc/net/tcp6'))]
    const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
    const listening = rows.filter(({ local, state }) => state === LISTENING && local.endsWith(end))
    return new Set(listening.map(({ inode }) => inode))
  } catch {
    return null
  }
}

/** A kernel without IPv6 (`ipv6.disable=1`) has no table of it. */
function readUnlessAbsent(read: (path: string) => string, path: string): string {
  try {
    return read(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return ''
  }
}

/** proc_net_tcp(5): the second field is the local address, the fourth the state, the tenth the inode. */
function rowsOf(table: string): { local: string; state: string; inode: string }[] {
  const [, ...lines] = table.trim().split('\n')
  return lines.map((line) => {
    const fields = line.trim().split(/\s+/)
    return { local: fields[1] ?? '', state: fields[3] ?? '', inode: fields[9] ?? '' }
  })
}

/** Whether the process or one of its children has one of these sockets; null where this user may not see that. */
function ownsSocket(pid: number, inodes: ReadonlySet<string>): boolean | null {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ').filter(Boolean)
    return [String(pid), ...children].some((each) => socketsOf(each).some((inode) => inodes.has(inode)))
  } catch {
    return null
  }
}

function socketsOf(pid: string): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((name) => {
    try {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${name}`)) ?? []
      return inode === undefined ? [] : [inode]
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      // It was closed meanwhile.
      return []
    }
  })
}

/**
 * Whether what answers there is a server of this program; its certificate is not looked at. What is slow, resets or says
 * no HTTP may be one as well: only an answer that is no health tells of another program.
 */
export function askListener(url: string, signal: AbortSignal): Promise<Listener> {
  const options = { agent: false, signal } as const
  return new Promise((resolve) => {
    const unseen = (): void => resolve('unseen')
    // Told at once, and not when the connection has closed: the look ends with the signal.
    signal.addEventListener('abort', unseen, { once: true })
    const asked = url.startsWith('https:')
      ? getHttps(url, { ...options, rejectUnauthorized: false })
      : getHttp(url, options)
    asked.on('error', unseen)
    asked.on('response', (answer) => {
      readAnswer(answer).then((text) => resolve(isHealth(text) ? 'server' : 'other'), unseen)
    })
  })
}

/** The text of an answer; null for one that is longer than any health. Rejects where it does not come to its end. */
async function readAnswer(answer: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    // Leaving the loop closes the connection.
    if (length > MOST_BYTES) return null
  }
  return Buffer.concat(chunks).toString()
}

function isHealth(text: string | null): boolean {
  const { status, worker, uptime_s: uptime } = Object(parse(text)) as Readonly<Record<string, unknown>>
  return typeof status === 'string' && typeof worker === 'number' && typeof uptime === 'number'
}

function parse(text: string | null): unknown {
  try {
    return text === null ? null : JSON.parse(text)
  } catch {
    return null
  }
}
