import { exchangeBytes } from '../../performance/federation/exchange-request.js'
import { newIssuingKey } from '../../performance/federation/issuing-key.js'
import { LocalIssuer } from '../../performance/federation/local-issuer.js'
import { AdminClient } from '../../performance/federation/trust.js'
import { closedLoop } from '../load.js'
import type { Attack } from './attack.js'

/** More than any cache of issuers holds of one organization when each brings as many keys as a set may have. */
const ISSUERS = 300
const SILENT_EVERY = 3
const KEYS = 100
/** Saved at a time. */
const SAVERS = 16
const CONNECTIONS = 300

/** One tenant's issuers, of which a third hang and the others publish as many keys as they may, all in use at once. */
export const issuerFlood: Attack = {
  name: 'attack-issuer-flood',
  summary: `one organization exchanges with ${ISSUERS} issuers of one origin, a third of which hang`,
  play: async ({ port, managementKey, seconds }) => {
    const begun = performance.now()
    const keys = Array.from({ length: KEYS }, (_, n) => newIssuingKey('ES256', `key ${n}`))
    const issuer = await LocalIssuer.start(keys)
    const admin = new AdminClient(`http://127.0.0.1:${port}`, managementKey)
    const key = await admin.newKey()
    const exchanges: Buffer[] = []
    let saved = 0
    const save = async (): Promise<void> => {
      while (saved < ISSUERS) {
        const number = saved++
        const kind = number % SILENT_EVERY === 0 ? 'silent' : 'healthy'
        const url = issuer.tenantUrl(`${number}`, kind)
        const policyId = await admin.newPolicy(
          { issuerId: await admin.newIssuer({ url }), ...key },
          { subject: 'anybody' },
        )
        exchanges.push(exchangeBytes(policyId, issuer.token({ iss: url })))
      }
    }
    await Promise.all(Array.from({ length: SAVERS }, save))
    let turn = 0
    const left = Math.max(1, seconds - (performance.now() - begun) / 1000)
    const report = await closedLoop({
      port,
      connections: CONNECTIONS,
      seconds: left,
      request: () => exchanges[turn++ % exchanges.length]!,
    })
    await issuer.stop()
    return report
  },
}
