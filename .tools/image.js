/**
 * `npm run image`: a container image for amd64 and arm64 as an OCI layout in `.artefacts/image`, without a daemon and
 * without root.
 *
 *   node .tools/image.js [--platform amd64|arm64]… [--package FILE] [--out FOLDER]
 *
 * In the image are Node, the libraries of Debian 13 that it loads, the package with what it depends on, as the lock file
 * pins it, and nothing else: no shell, no package manager, no binary for another platform. The same commit, made by the
 * same Node of the same packages of Debian, gives the same digest. What `npm ci` has installed is copied and fetched only
 * where it is for another platform; without `--package`, `dist` is packed as it is: build before.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { argv, env } from 'node:process'
import { parseArgs } from 'node:util'
import { makeLayers, NODE, PLATFORMS, packInto, USER } from './image/layers.js'
import { beginLayout, writeLayout } from './image/layout.js'
import { ROOT, run } from './run.js'

const MAIN = '/app/dist/src/main.js'

/** @typedef {import('./image/layers.js').Platform} Platform */

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
    Healthcheck: {
      Test: ['CMD', NODE, MAIN, 'health'],
      Interval: 10e9,
      Timeout: 5e9,
      StartPeriod: 30e9,
      Retries: 3,
    },
  }
}

/**
 * @param {string} out removed first, when it is a layout
 * @param {readonly Platform[]} platforms
 * @param {string} [archive] the package; `dist` is packed without it
 */
function makeImage(out, platforms, archive) {
  if (existsSync(out) && readdirSync(out).length > 0 && !existsSync(join(out, 'oci-layout')))
    throw new Error(`${out} holds something else than an image`)
  rmSync(out, { recursive: true, force: true })
  beginLayout(out)
  const seconds = Number(env.SOURCE_DATE_EPOCH ?? run('git', ['log', '-1', '--format=%ct']))
  const scratch = mkdtempSync(join(tmpdir(), 'sluice-image-'))
  try {
    const packed = archive ?? packInto(scratch, '.')
    const images = platforms.map((platform) => {
      const own = join(scratch, platform)
      mkdirSync(own)
      return { platform, layers: makeLayers(platform, packed, own, out) }
    })
    return writeLayout(out, images, configuration(), new Date(seconds * 1000))
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

const { values } = parseArgs({
  args: argv.slice(2),
  options: {
    platform: { type: 'string', multiple: true },
    package: { type: 'string' },
    out: { type: 'string' },
  },
})
const platforms = values.platform ?? Object.keys(PLATFORMS)
const unknown = platforms.find((name) => !Object.hasOwn(PLATFORMS, name))
if (unknown !== undefined) {
  console.error(`there is no platform ${unknown}: there are ${Object.keys(PLATFORMS).join(' and ')}`)
  process.exitCode = 2
} else {
  try {
    const out = resolve(values.out ?? join(ROOT, '.artefacts/image'))
    for (const { platform, digest, bytes } of makeImage(
      out,
      /** @type {Platform[]} */ (platforms),
      values.package,
    ))
      console.log(`${platform}  ${(bytes / 1e6).toFixed(1)} MB  ${digest}`)
    console.log(out)
  } catch (error) {
    console.error(`no image: ${error instanceof Error ? error.message : error}`)
    process.exitCode = 1
  }
}
