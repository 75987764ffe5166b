/** What is in the image: fetched, copied and cut to what one platform needs. */
import { createHash } from 'node:crypto'
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { billOfMaterials } from '../bill-of-materials.js'
import { shippedPackages } from '../licences.js'
import { ROOT, run } from '../run.js'
import { layerOf } from './layout.js'

const NODE_VERSION = '24.21.0'
/** What Node calls the interface of that version; natives are named after it. */
const NODE_ABI = '137'
/** Fixed, so that volumes keep their owner; it is what other images without a shell use. */
export const USER = '65532'
export const NODE = '/usr/local/bin/node'
const DEBIAN_PACKAGES = ['libc6', 'libstdc++6', 'libgcc-s1']
/** The build of the native server for older versions of Node. */
const OLDER_NATIVE = 'node_modules/uWebSockets.js'

/** @typedef {'amd64' | 'arm64'} Platform */

/** What differs; `integrity` is that of the package that holds Node, `elf` the kind of machine in the head of a binary. */
export const PLATFORMS = {
  amd64: {
    cpu: 'x64',
    triplet: 'x86_64-linux-gnu',
    elf: 0x3e,
    integrity:
      'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  arm64: {
    cpu: 'arm64',
    triplet: 'aarch64-linux-gnu',
    elf: 0xb7,
    integrity:
      'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
}

/** Those that Node loads, and what the C library loads to look up names. */
const LIBRARIES = /^(ld-linux-.*|lib(c|m|dl|pthread|rt|resolv|gcc_s|nss_dns|nss_files|stdc\+\+)\.so\..*)$/

/**
 * Fetches a package of the registry, and checks that it is the one that was pinned.
 *
 * @param {string} name with its version
 * @param {string} integrity
 * @param {string} scratch
 * @param {string} into a folder
 */
function fetchPackage(name, integrity, scratch, into) {
  const archive = packInto(scratch, name)
  const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`
  if (found !== integrity) throw new Error(`${name} is another one than was pinned: ${found}`)
  unpack(archive, into)
}

/**
 * @param {string} scratch
 * @param {string} name of a package of the registry; `.` for this one
 */
export function packInto(scratch, name) {
  const [packed] = JSON.parse(
    run('npm', ['pack', name, '--ignore-scripts', '--json', '--pack-destination', scratch]),
  )
  return join(scratch, packed.filename)
}

/**
 * @param {string} archive
 * @param {string} into a folder
 */
function unpack(archive, into) {
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
  fetchPackage(`node-linux-${cpu}@${NODE_VERSION}`, integrity, scratch, join(scratch, 'node'))
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
    return {
      type: 'library',
      name,
      version: decodeURIComponent(version),
      purl: `pkg:deb/debian/${name}@${version}?arch=${platform}`,
    }
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
 * @param {string} archive the package
 * @param {string} scratch
 * @param {string} root
 * @param {readonly object[]} packages of the lower layer
 */
function makeApp(platform, archive, scratch, root, packages) {
  const app = join(root, 'app')
  unpack(archive, app)
  const bundled = JSON.parse(readFileSync(join(ROOT, 'dist/bundled.json'), 'utf8'))
  /** @type {Record<string, Locked>} */
  const locked = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages
  const shipped = shippedPackages(ROOT, bundled).filter(
    ({ path }) => runsOn(locked[path], platform) && path !== OLDER_NATIVE,
  )
  for (const { path, name, version } of shipped) {
    const own = locked[path]
    // Only development has it installed: what it is needed for is bundled.
    if (own === undefined || own.dev === true) continue
    const source = join(ROOT, path)
    const fetched = join(scratch, 'packages', name)
    const isHere = existsSync(source)
    if (!isHere && own.cpu === undefined) throw new Error(`${path} is not installed: npm ci comes first`)
    if (!isHere) fetchPackage(`${name}@${version}`, own.integrity, scratch, fetched)
    copyUsed(isHere ? source : fetched, join(app, path), platform)
  }
  const node = {
    type: 'application',
    name: 'node',
    version: NODE_VERSION,
    purl: `pkg:generic/node@${NODE_VERSION}`,
  }
  const hash = createHash('sha256').update(readFileSync(archive)).digest('hex')
  const list = billOfMaterials(shipped, hash, [node, ...packages])
  writeFileSync(join(app, 'sbom.cdx.json'), `${JSON.stringify(list, null, 1)}\n`)
}

/** @typedef {{ dev?: true, os?: string[], cpu?: string[], libc?: string[], integrity: string }} Locked */

/**
 * @param {Locked | undefined} locked
 * @param {Platform} platform
 */
function runsOn(locked, platform) {
  const { os = ['linux'], cpu = [PLATFORMS[platform].cpu], libc = ['glibc'] } = locked ?? {}
  return os.includes('linux') && cpu.includes(PLATFORMS[platform].cpu) && libc.includes('glibc')
}

/**
 * Copies a package without those that are installed in it, without natives of other platforms, of other versions of Node
 * and of another C library, and without what only compilers and debuggers of programs read.
 *
 * @param {string} source
 * @param {string} target
 * @param {Platform} platform
 */
function copyUsed(source, target, platform) {
  const filter = (/** @type {string} */ path) => {
    const name = basename(path)
    if (name === 'node_modules' || /\.(map|d\.[cm]?ts)$/.test(name)) return false
    if (!name.endsWith('.node')) return true
    const [, abi = NODE_ABI] = /(?:\.abi|^uws_.*_)(\d+)\b/.exec(name) ?? []
    return abi === NODE_ABI && !/musl/.test(name) && machineOf(path) === PLATFORMS[platform].elf
  }
  cpSync(source, target, { recursive: true, filter: (path) => path === source || filter(path) })
}

/**
 * The kind of machine that a binary is for; 0 for what no Linux runs.
 *
 * @param {string} path
 */
function machineOf(path) {
  const head = Buffer.alloc(20)
  const file = openSync(path, 'r')
  readSync(file, head)
  closeSync(file)
  return head.toString('latin1', 0, 4) === '\x7fELF' ? head.readUInt16LE(18) : 0
}

/**
 * A release is not tried on every platform, so its binaries are looked at: those without which nothing runs are there, and
 * they are for this platform.
 *
 * @param {Platform} platform
 * @param {readonly string[]} roots
 */
function checkBinaries(platform, roots) {
  const files = roots.flatMap((root) =>
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  )
  const binaries = files.filter((path) => /(\.node|\.so(\.\d+)*|\/bin\/node)$/.test(path))
  for (const needed of ['/bin/node', '/libc.so.6', '/uws_linux_', '/@lmdb/lmdb-linux-']) {
    if (!binaries.some((path) => path.includes(needed))) throw new Error(`${platform}: there is no ${needed}`)
  }
  const stray = binaries.find((path) => machineOf(path) !== PLATFORMS[platform].elf)
  if (stray !== undefined) throw new Error(`${platform}: ${stray} is for another machine`)
}

/**
 * What the image for a platform is made of, from below.
 *
 * @param {Platform} platform
 * @param {string} archive the package
 * @param {string} scratch
 * @param {string} out the layout
 */
export function makeLayers(platform, archive, scratch, out) {
  const [base, app, places] = ['base', 'app', 'places'].map((name) => join(scratch, 'layers', name))
  const packages = makeBase(platform, scratch, /** @type {string} */ (base))
  makeApp(platform, archive, scratch, /** @type {string} */ (app), packages)
  checkBinaries(platform, /** @type {string[]} */ ([base, app]))
  for (const folder of ['data', 'tmp'])
    mkdirSync(join(/** @type {string} */ (places), folder), { recursive: true })
  return [
    layerOf(out, /** @type {string} */ (base), 'Node and the libraries of Debian 13'),
    layerOf(out, /** @type {string} */ (app), 'Sluice'),
    layerOf(out, /** @type {string} */ (places), 'what its user may write to', ['data', 'tmp'], USER),
  ]
}
