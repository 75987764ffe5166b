import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { loadNativeServer, reasonOf } from '../../src/transport/native-server.js'

const NODE = Number.parseInt(process.versions.node, 10)
const PINNED = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as Record<
  'dependencies' | 'optionalDependencies',
  Record<string, string>
>

test('the build that belongs to the running Node is loaded, and names the version that is pinned', async (t) => {
  const { build } = await loadNativeServer('auto')
  const newer = PINNED.optionalDependencies['@btc-vision/uwebsockets.js']
  const pinned = NODE >= 24 ? `@btc-vision/uwebsockets.js ${newer}` : PINNED.dependencies['uWebSockets.js']
  t.equal(build.name, NODE >= 24 ? 'newer' : 'older')
  t.equal(build.version, pinned?.replace(/^npm:(.*)@/, '$1 '))
})

test('the newer build is loaded where it was chosen, or its refusal says why not and what to do', async (t) => {
  const outcome = await loadNativeServer('newer').catch((error: Error) => error.message)
  if (typeof outcome === 'string') {
    t.match(
      outcome,
      /^the native server \(@btc-vision\/uwebsockets\.js [\d.]+\) (needs glibc|has no binary for|is not installed)[^\n]*: run Node 22 without SLUICE_NATIVE, or [^\n]*$/,
    )
  } else t.equal(outcome.build.name, 'newer')
})

const wrapped = (said: string): Error =>
  new Error(`This version of uWS.js supports only Node.js 20.\n\n${said}`)
const NO_FILE = "Error: Cannot find module './uws_linux_x64_131.node'\nRequire stack:\n- /a/uws.js"
const NO_SYMBOL =
  "Error: /lib/x86_64-linux-gnu/libm.so.6: version `GLIBC_2.38' not found (required by /a/uws.node)"
const NO_LIBRARY =
  'Error: Error loading shared library ld-linux-x86-64.so.2: No such file (needed by /a/uws.node)'
const HERE = `${process.version} on ${process.platform} ${process.arch}`

const REASONS: readonly (readonly [error: unknown, glibc: string | null, reason: string])[] = [
  ...['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'].map(
    (code) =>
      [
        Object.assign(new Error("Cannot find module 'x'"), { code }),
        '2.36',
        'is not installed, which npm ci without --omit=optional does',
      ] as const,
  ),
  [wrapped(NO_FILE), '2.41', `has no binary for Node ${HERE}`],
  [wrapped(NO_FILE), null, `has no binary for Node ${HERE}`],
  [wrapped(NO_SYMBOL), '2.36', 'needs glibc 2.38, and this system has 2.36'],
  [wrapped(NO_LIBRARY), null, 'needs glibc, and this system has another C library'],
  [
    wrapped('Error: /a/uws.node: file too short'),
    '2.41',
    'cannot be loaded (Error: /a/uws.node: file too short)',
  ],
  ['thrown', '2.41', 'cannot be loaded (thrown)'],
  [null, '2.41', 'cannot be loaded (null)'],
]

test('what the loader of the system says is told as a reason', {
  skip: process.platform !== 'linux',
}, async (t) => {
  for (const [error, glibc, reason] of REASONS) t.equal(reasonOf(error, { glibc: '2.38' }, glibc), reason)
})
