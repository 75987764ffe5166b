/** The list of what is in something that is shipped, in CycloneDX's form. */
import { createHash } from 'node:crypto'
import { ROOT, run } from './run.js'

/**
 * What `npm sbom` says of the lock file, without what only development needs, and the same whenever it is made.
 *
 * @param {readonly import('./licences.js').Shipped[]} shipped
 * @param {string} hash of the package: SHA-256, hex
 * @param {readonly object[]} beside further components, that npm does not know
 */
export function billOfMaterials(shipped, hash, beside = []) {
  const told = JSON.parse(run('npm', ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'], ROOT))
  const how = new Map(shipped.map(({ name, version, how: way }) => [`${name}@${version}`, way]))
  /** @param {string} ref */
  const isShipped = (ref) => how.has(ref) || ref === told.metadata.component['bom-ref']
  const components = told.components
    .filter((/** @type {{ 'bom-ref': string }} */ each) => isShipped(each['bom-ref']))
    .map((/** @type {{ 'bom-ref': string }} */ each) => ({
      ...each,
      scope: 'required',
      properties: [{ name: 'sluice:how', value: how.get(each['bom-ref']) }],
    }))
  const dependencies = told.dependencies
    .filter((/** @type {{ ref: string }} */ { ref }) => isShipped(ref))
    .map((/** @type {{ ref: string, dependsOn: string[] }} */ { ref, dependsOn }) => ({
      ref,
      dependsOn: dependsOn.filter(isShipped),
    }))
  const { timestamp: _, ...metadata } = told.metadata
  const component = {
    ...metadata.component,
    type: 'application',
    name: 'sluice',
    hashes: [{ alg: 'SHA-256', content: hash }],
  }
  const id = createHash('sha256')
    .update(hash + JSON.stringify(beside))
    .digest('hex')
  const serialNumber = `urn:uuid:${[id.slice(0, 8), id.slice(8, 12), `8${id.slice(13, 16)}`, `8${id.slice(17, 20)}`, id.slice(20, 32)].join('-')}`
  return {
    ...told,
    serialNumber,
    metadata: { ...metadata, component },
    components: [...components, ...beside],
    dependencies,
  }
}
