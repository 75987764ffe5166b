/**
 * The two builds of uWebSockets.js, and which of them serves. Their API is the same, so the edge is one; this file
 * alone loads them. Why there are two: docs/decisions/0031-two-builds-of-the-native-server.md.
 */
import type * as Uws from 'uWebSockets.js'
import { createRequire } from 'node:module'

/** `auto` takes the build that belongs to the running Node, `newer` the newer one on any Node it has a binary for. */
export type NativeChoice = 'auto' | 'newer'

type NativeModule = Pick<typeof Uws, 'App' | 'SSLApp' | 'us_listen_socket_close' | 'us_socket_local_port'>

interface Build {
  readonly name: 'older' | 'newer'
  readonly version: string
  /** The oldest glibc that its binaries for Linux load under. */
  readonly glibc: string
  readonly load: () => Promise<NativeModule>
  /** What to do where it does not load. */
  readonly remedy: string
}

/** A loaded build: what the edge calls, and which one it is. */
export interface NativeServer extends NativeModule {
  readonly build: Pick<Build, 'name' | 'version'>
}

/** No build fits this machine. The message is one sentence with the reason and the remedy. */
export class NativeServerUnavailable extends Error {}

/** Most bytes of a request's header block (contract/decisions 22). */
export const HEADER_BYTES = 16 * 1024

const OLDER: Build = {
  name: 'older',
  version: 'uws-pack 20.0.8',
  glibc: '2.27',
  load: () => import('uWebSockets.js'),
  remedy: 'run Node 22, or Node 24 where glibc is 2.38 or later (Debian 13, Ubuntu 24.04)',
}

const NEWER: Build = {
  name: 'newer',
  version: '@btc-vision/uwebsockets.js 20.57.0',
  glibc: '2.38',
  // Not imported: on Node 20 an import of a CommonJS module that throws also leaves a rejection that nobody can catch.
  load: async () => createRequire(import.meta.url)('@btc-vision/uwebsockets.js') as NativeModule,
  remedy:
    'run Node 22 without SLUICE_NATIVE, or Node 22 or 24 where glibc is 2.38 or later (Debian 13, Ubuntu 24.04)',
}

/** From this version on the older build has no binary. */
const NEWER_SINCE_NODE = 24

/**
 * Loads a build. Rejects with `NativeServerUnavailable` when it has no binary that fits.
 * It says how long header blocks may be before it loads, because native code asks for that only then.
 */
export async function loadNativeServer(choice: NativeChoice): Promise<NativeServer> {
  const node = Number.parseInt(process.versions.node, 10)
  const build = choice === 'newer' || node >= NEWER_SINCE_NODE ? NEWER : OLDER
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(HEADER_BYTES)
  try {
    const { App, SSLApp, us_listen_socket_close, us_socket_local_port } = await build.load()
    return { build, App, SSLApp, us_listen_socket_close, us_socket_local_port }
  } catch (error) {
    throw new NativeServerUnavailable(
      `the native server (${build.version}) ${reasonOf(error, build, glibcVersion())}: ${build.remedy}`,
      { cause: error },
    )
  }
}

/**
 * Why a build did not load. Both packages wrap what the loader of the system says into a text of their own, so it is
 * told by its words. `glibc`: the version here, null on a system without it.
 */
export function reasonOf(error: unknown, build: Pick<Build, 'glibc'>, glibc: string | null): string {
  const { platform, arch, version } = process
  const text = error instanceof Error ? error.message.trim() : String(error)
  const { code } = Object(error) as { code?: unknown }
  if (code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND')
    return 'is not installed, which npm ci without --omit=optional does'
  if (text.includes('Cannot find module')) return `has no binary for Node ${version} on ${platform} ${arch}`
  if (platform === 'linux' && glibc === null) return 'needs glibc, and this system has another C library'
  if (/GLIBC_[\d.]+' not found/.test(text)) return `needs glibc ${build.glibc}, and this system has ${glibc}`
  return `cannot be loaded (${text.split('\n').at(-1)})`
}

/** Of the running process; null on a system with another C library. */
export function glibcVersion(): string | null {
  const report = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } }
  return report.header.glibcVersionRuntime ?? null
}
