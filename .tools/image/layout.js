/** An image as files: layers, their configuration and their index, as the OCI image specification lays them out. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { arch } from 'node:process'
import { gzipSync } from 'node:zlib'

const MEDIA = 'application/vnd.oci.image'

/** @typedef {{ mediaType: string, digest: string, size: number }} Descriptor */
/** @typedef {{ descriptor: Descriptor, diffId: string, about: string }} Layer */

/** @param {Descriptor} descriptor */
const pathOf = ({ digest }) => `blobs/${digest.replace(':', '/')}`

/** @param {Uint8Array} bytes */
const digestOf = (bytes) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`

/**
 * @param {string} layout
 * @param {Uint8Array} bytes
 * @param {string} mediaType
 * @returns {Descriptor}
 */
function addBlob(layout, bytes, mediaType) {
  const digest = digestOf(bytes)
  const folder = join(layout, 'blobs/sha256')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, digest.slice('sha256:'.length)), bytes)
  return { mediaType, digest, size: bytes.length }
}

/**
 * @param {string} layout
 * @param {object} value
 * @param {string} mediaType
 */
const addJson = (layout, value, mediaType) => addBlob(layout, Buffer.from(JSON.stringify(value)), mediaType)

/**
 * Adds what a folder holds as a layer. Order, times, owners and rights are fixed, so the same content gives the same bytes.
 *
 * @param {string} layout
 * @param {string} folder
 * @param {string} about what is in it, for the history of the image
 * @param {readonly string[]} paths in the folder
 * @param {string} owner user and group id of all of it
 * @returns {Layer}
 */
export function layerOf(layout, folder, about, paths = ['.'], owner = '0') {
  const fixed = ['--sort=name', '--mtime=@0', '--numeric-owner', `--owner=${owner}`, `--group=${owner}`]
  const rights = owner === '0' ? 'u=rwX,go=rX' : 'u=rwX,go='
  const args = ['-c', '--format=gnu', ...fixed, `--mode=${rights}`, '-C', folder, ...paths]
  const { status, stdout, stderr } = spawnSync('tar', args, { maxBuffer: 2 ** 30 })
  if (status !== 0) throw new Error(String(stderr))
  const descriptor = addBlob(layout, gzipSync(stdout), `${MEDIA}.layer.v1.tar+gzip`)
  return { descriptor, diffId: digestOf(stdout), about }
}

/**
 * An empty layout. It says what it is before anything is in it, so that what a failure leaves of it is made anew the next
 * time, and nobody's own files.
 *
 * @param {string} layout
 */
export function beginLayout(layout) {
  mkdirSync(join(layout, 'blobs/sha256'), { recursive: true })
  writeFileSync(join(layout, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}')
}

/**
 * Writes manifests and the index of all platforms, under the version of the image as its name. Gives the digest of each
 * manifest, and how many bytes somebody fetches.
 *
 * @param {string} layout
 * @param {readonly { platform: string, layers: readonly Layer[] }[]} images
 * @param {{ Labels: Readonly<Record<string, string>> }} config
 * @param {Date} made
 */
export function writeLayout(layout, images, config, made) {
  const created = made.toISOString()
  /** @type {Map<string, object>} for `docker load` where Docker keeps images in its own way */
  const archives = new Map()
  const manifests = images.map(({ platform, layers }) => {
    const about = addJson(
      layout,
      {
        created,
        architecture: platform,
        os: 'linux',
        config,
        rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
        history: layers.map((layer) => ({ created, created_by: layer.about })),
      },
      `${MEDIA}.config.v1+json`,
    )
    const mediaType = `${MEDIA}.manifest.v1+json`
    const descriptors = layers.map(({ descriptor }) => descriptor)
    const manifest = {
      schemaVersion: 2,
      mediaType,
      config: about,
      layers: descriptors,
      annotations: config.Labels,
    }
    archives.set(platform, {
      Config: pathOf(about),
      RepoTags: [`sluice:${config.Labels['org.opencontainers.image.version']}`],
      Layers: descriptors.map(pathOf),
    })
    const bytes = descriptors.reduce((sum, { size }) => sum + size, 0)
    return {
      ...addJson(layout, manifest, mediaType),
      platform: { architecture: platform, os: 'linux' },
      bytes,
    }
  })
  const mediaType = `${MEDIA}.index.v1+json`
  const all = addJson(
    layout,
    { schemaVersion: 2, mediaType, manifests: manifests.map(({ bytes: _, ...descriptor }) => descriptor) },
    mediaType,
  )
  const version = config.Labels['org.opencontainers.image.version']
  const annotations = {
    'org.opencontainers.image.ref.name': version,
    'io.containerd.image.name': `docker.io/library/sluice:${version}`,
  }
  writeFileSync(
    join(layout, 'index.json'),
    JSON.stringify({ schemaVersion: 2, mediaType, manifests: [{ ...all, annotations }] }),
  )
  // That form has room for one platform under a name: it is that of this machine, where the image has it.
  const own = archives.get(arch === 'arm64' ? 'arm64' : 'amd64') ?? [...archives.values()][0]
  writeFileSync(join(layout, 'manifest.json'), JSON.stringify([own]))
  return manifests.map(({ platform, digest, bytes }) => ({ platform: platform.architecture, digest, bytes }))
}
