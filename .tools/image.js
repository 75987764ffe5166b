/**
 * `npm run image`: a container image for amd64 and arm64 as an OCI layout in `.artefacts/image`, without a daemon and
 * without root.
 *
 *   node .tools/image.js [--platform amd64|arm64]… [--out FOLDER]
 *
 * In the image are Node, the libraries of Debian 13 that it loads, the package that `npm pack` gives with what it depends
 * on, as the lock file pins it, and nothing else: no shell, no package manager, no binary for another platform. The same
 * commit and the same packages of Debian give the same digest. `dist` is taken as it is: build before.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { argv, env } from 'node:process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { layerOf, writeLayout } from './image/layout.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const NODE_VERSION = '24.21.0'
/** What Node calls the interface of that version; natives are named after it. */
const NODE_ABI = '137'
/** Fixed, so that volumes keep their owner; it is what other images without a shell use. */
const USER = '65532'
const NODE = '/usr/local/bin/node'
const MAIN = '/app/dist/src/main.js'
const DEBIAN_PACKAGES = ['libc6', 'libstdc++6', 'libgcc-s1']

/** @typedef {'amd64' | 'arm64'} Platform */

/** What differs; `integrity` is that of the registry's package that holds Node. */
const PLATFORMS = {
  amd64: {
    cpu: 'x64',
    triplet: 'x86_64-linux-gnu',
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  arm64: {
    cpu: 'arm64',
    triplet: 'aarch64-linux-gnu',
    integrity: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
}

/** Those that Node loads, and what the C library loads to look up names. */
const LIBRARIES = /^(ld-linux-.*|lib(c|m|dl|pthread|rt|resolv|gcc_s|nss_dns|nss_files|stdc\+\+)\.so\..*)$/

/**
 * Runs a program and gives what it printed; throws with what it said when it fails.
 *
 * @param {string} program
 * @param {readonly string[]} args
 */
function run(program, args, cwd = ROOT) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 28 })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error?.message ?? stderr}`)
  return stdout
}

/**
 * Unpacks a package of the registry, or this one.
 *
 * @param {string} name of the package; `.` for this one
 * @param {string} scratch
 * @param {string} into a folder
 * @param {string} [integrity] what the archive must have
 */
function unpackPackage(name, scratch, into, integrity) {
  const [packed] = JSON.parse(run('npm', ['pack', name, '--ignore-scripts', '--json', '--pack-destination', scratch]))
  const archive = join(scratch, packed.filename)
  const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`
  if (integrity !== undefined && found !== integrity) throw new Error(`${name} is another one than was pinned: ${found}`)
  mkdirSync(into, { recursive: true })
  run('tar', ['-xzf', archive, '-C', into, '--strip-components=1', '--no-same-owner'])
}

/**
 * The lower layer, which stays when only Sluice is new: Node, the libraries, the names of users. Gives the packages of
 * Debian with their versions.
 *
 * @param {Platform} platform
 * @param {string} scratch
 * @param {string} root
 */
function makeBase(platform, scratch, root) {
  const { cpu, triplet, integrity } = PLATFORMS[platform]
  const debian = join(scratch, 'debian')
  run('.ci/debian-13', [platform, debian, ...DEBIAN_PACKAGES])
  const libraries = join(debian, 'root/usr/lib', triplet)
  for (const name of readdirSync(libraries).filter((each) => LIBRARIES.test(each))) {
    cpSync(join(libraries, name), join(root, 'usr/lib', triplet, name), { verbatimSymlinks: true })
  }
  // The place of the loader that programs name, for amd64 below lib64.
  for (const folder of ['lib', 'lib64']) {
    mkdirSync(join(root, 'usr', folder), { recursive: true })
    symlinkSync(`usr/${folder}`, join(root, folder))
    for (const name of foundIn(join(debian, 'root/usr', folder)).filter((each) => /^ld-linux-/.test(each))) {
      symlinkSync(join('/usr/lib', triplet, name), join(root, 'usr', folder, name))
    }
  }
  for (const name of DEBIAN_PACKAGES) {
    const doc = join('usr/share/doc', name)
    if (foundIn(join(debian, 'root', doc)).includes('copyright')) {
      cpSync(join(debian, 'root', doc, 'copyright'), join(root, doc, 'copyright'))
    }
  }
  unpackPackage(`node-linux-${cpu}@${NODE_VERSION}`, scratch, join(scratch, 'node'), integrity)
  cpSync(join(scratch, 'node/bin/node'), join(root, NODE))
  cpSync(join(scratch, 'node/LICENSE'), join(root, 'usr/share/doc/node/LICENSE'))
  // Where engines mount what is not in the image.
  for (const folder of ['etc', 'proc', 'sys', 'dev']) mkdirSync(join(root, folder))
  writeFileSync(join(root, 'etc/passwd'), `root:x:0:0::/:/none\nsluice:x:${USER}:${USER}::/data:/none\n`)
  writeFileSync(join(root, 'etc/group'), `root:x:0:\nsluice:x:${USER}:\n`)
  writeFileSync(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n')
  const packages = readdirSync(join(debian, 'debs')).sort()
  return packages.map((file) => {
    const [name = '', version = ''] = file.split('_')
    return { type: 'library', name, version: decodeURIComponent(version), purl: `pkg:deb/debian/${name}@${version}?arch=${platform}` }
  })
}

/** @param {string} folder */
const foundIn = (folder) => {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

/**
 * The upper layer: the package, what it depends on, and the list of everything in the image.
 *
 * @param {Platform} platform
 * @param {string} scratch
 * @param {string} root
 * @param {readonly object[]} packages of the lower layer
 */
function makeApp(platform, scratch, root, packages) {
  const { cpu } = PLATFORMS[platform]
  const app = join(root, 'app')
  unpackPackage('.', scratch, app)
  cpSync(join(ROOT, 'package-lock.json'), join(app, 'package-lock.json'))
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error']
  run('npm', ['ci', '--omit=dev', '--ignore-scripts', '--os=linux', `--cpu=${cpu}`, '--libc=glibc', ...quiet], app)
  const list = JSON.parse(run('npm', ['sbom', '--sbom-format=cyclonedx', '--package-lock-only'], app))
  // What differs from one run to the next says nothing about the image.
  delete list.serialNumber
  delete list.metadata.timestamp
  const bundled = bundledPackages()
  const isInside = (/** @type {any} */ { purl, properties = [], ...component }) =>
    !purl.includes('/uws-pack@') &&
    (bundled.has([component.group, component.name].filter(Boolean).join('/')) ||
      !properties.some((/** @type {any} */ { name }) => name === 'cdx:npm:package:development'))
  const node = { type: 'application', name: 'node', version: NODE_VERSION, purl: `pkg:generic/node@${NODE_VERSION}` }
  list.components = [...list.components.filter(isInside), node, ...packages]
  const inside = new Set(list.components.map((/** @type {any} */ each) => each['bom-ref']))
  list.dependencies = list.dependencies.filter((/** @type {any} */ { ref }) => inside.has(ref))
  for (const each of list.dependencies) each.dependsOn = each.dependsOn.filter((/** @type {string} */ ref) => inside.has(ref))
  writeFileSync(join(app, 'sbom.cdx.json'), `${JSON.stringify(list, null, 1)}\n`)
  rmSync(join(app, 'package-lock.json'))
  removeUnused(join(app, 'node_modules'), cpu)
}

/** Packages whose code is in the bundles: to npm they are for development alone. */
function bundledPackages() {
  const maps = ['src', 'workers', 'chunks', 'console'].flatMap((folder) =>
    foundIn(join(ROOT, 'dist', folder))
      .filter((name) => name.endsWith('.map'))
      .flatMap((name) => JSON.parse(readFileSync(join(ROOT, 'dist', folder, name), 'utf8')).sources),
  )
  return new Set(maps.map((/** @type {string} */ path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1]))
}

/**
 * Natives of other platforms, of other versions of Node and of another C library, and what only compilers and debuggers
 * of programs read.
 *
 * @param {string} modules
 * @param {string} cpu
 */
function removeUnused(modules, cpu) {
  // The build of the native server for older versions of Node.
  rmSync(join(modules, 'uWebSockets.js'), { recursive: true })
  const own = `uws_linux_${cpu}_${NODE_ABI}.node`
  for (const entry of readdirSync(modules, { recursive: true, withFileTypes: true })) {
    const { name } = entry
    const isForeign =
      name.endsWith('.node') && name !== own && (!name.endsWith('.glibc.node') || /\.abi(?!137)/.test(name))
    if (entry.isFile() && (isForeign || /\.(map|d\.[cm]?ts)$/.test(name))) rmSync(join(entry.parentPath, name))
  }
  rmSync(join(modules, '.package-lock.json'))
}

/** What an engine does with the image, in the words of its specification. */
function configuration() {
  const { version, description, license } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  return {
    User: `${USER}:${USER}`,
    ExposedPorts: { '8080/tcp': {} },
    Env: ['PATH=/usr/local/bin', 'HOME=/data', 'HOST=0.0.0.0', 'PORT=8080', 'SLUICE_DATA_DIR=/data'],
    Entrypoint: [NODE, MAIN],
    Cmd: ['serve'],
    Volumes: { '/data': {} },
    WorkingDir: '/data',
    StopSignal: 'SIGTERM',
    Labels: {
      'org.opencontainers.image.title': 'sluice',
      'org.opencontainers.image.description': description,
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': license,
      'org.opencontainers.image.revision': run('git', ['rev-parse', 'HEAD']).trim(),
    },
    // Docker and those who follow it; times in nanoseconds.
    Healthcheck: { Test: ['CMD', NODE, MAIN, 'health'], Interval: 10e9, Timeout: 5e9, StartPeriod: 30e9, Retries: 3 },
  }
}

/**
 * @param {Platform} platform
 * @param {string} scratch
 * @param {string} out
 */
function makeLayers(platform, scratch, out) {
  const [base, app, places] = ['base', 'app', 'places'].map((name) => join(scratch, 'layers', name))
  const packages = makeBase(platform, scratch, /** @type {string} */ (base))
  makeApp(platform, scratch, /** @type {string} */ (app), packages)
  for (const folder of ['data', 'tmp']) mkdirSync(join(/** @type {string} */ (places), folder), { recursive: true })
  return [
    layerOf(out, /** @type {string} */ (base), 'Node and the libraries of Debian 13'),
    layerOf(out, /** @type {string} */ (app), 'Sluice'),
    layerOf(out, /** @type {string} */ (places), 'what its user may write to', ['data', 'tmp'], USER),
  ]
}

const { values } = parseArgs({
  args: argv.slice(2),
  options: { platform: { type: 'string', multiple: true }, out: { type: 'string' } },
})
const wanted = values.platform ?? Object.keys(PLATFORMS)
const unknown = wanted.find((name) => !Object.hasOwn(PLATFORMS, name))
if (unknown !== undefined) throw new Error(`there is no platform ${unknown}: there are ${Object.keys(PLATFORMS).join(', ')}`)
const out = values.out ?? join(ROOT, '.artefacts/image')
rmSync(out, { recursive: true, force: true })
mkdirSync(join(out, 'blobs/sha256'), { recursive: true })
const seconds = Number(env.SOURCE_DATE_EPOCH ?? run('git', ['log', '-1', '--format=%ct']))
const images = /** @type {Platform[]} */ (wanted).map((platform) => {
  const scratch = mkdtempSync(join(tmpdir(), 'sluice-image-'))
  try {
    return { platform, layers: makeLayers(platform, scratch, out) }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
})
const made = writeLayout(out, images, configuration(), new Date(seconds * 1000))
for (const { platform, digest, bytes } of made) console.log(`${platform}  ${(bytes / 1e6).toFixed(1)} MB  ${digest}`)
console.log(out)
