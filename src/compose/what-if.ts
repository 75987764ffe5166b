/** Calls of the ledger under another configuration: what the command and the operation have in common. */
import { TurnSlices } from '../base/turn-slices.js'
import { type ConfigFileContent, readConfigText } from '../config/config-file.js'
import { buildCatalog, type Catalog } from '../gateway/catalog/catalog.js'
import { credentialVariables } from '../gateway/catalog/configuration.js'
import type { Provider } from '../gateway/providers/port/provider.js'
import { messagesOverChat } from '../gateway/translation/messages-over-chat.js'
import type { WhatIfReport } from '../gateway/what-if/report.js'
import { countCalls, rowsInOrder } from '../gateway/what-if/rows-in-order.js'
import { WhatIf, type WhatIfQuestion } from '../gateway/what-if/what-if.js'
import type { LedgerReader } from '../store/ledger-store.js'
import { otherFaults, readGateway, readGatewayFromElsewhere } from './configuration.js'

/** A catalogue that is planned with and never called; or what is wrong with the text. */
type SupposedCatalog = { readonly catalog: Catalog } | { readonly faults: readonly string[] }

/**
 * Checks a configuration as a server does before it starts, and reads the gateway's part of it; credentials that it
 * names need not be there. `ofThisMachine`: it is somebody's at this machine who asks, see `findFileFaults`.
 */
export function readSupposedCatalog(text: string, ofThisMachine: boolean): SupposedCatalog {
  const { content, problem } = readConfigText(text)
  if (problem !== null) return { faults: [problem] }
  const read = ofThisMachine ? readGateway : readGatewayFromElsewhere
  const { gateway, faults: inGateway } = read(content, environmentFor(content))
  const faults = [
    ...otherFaults(content, ofThisMachine),
    ...inGateway.map((fault) => `${fault.path}: ${fault.problem}`),
  ]
  if (gateway === null || faults.length > 0) return { faults }
  const catalog = buildCatalog(gateway, {
    createProvider: () => NEVER_CALLED,
    messagesOver: messagesOverChat,
  })
  return { catalog }
}

const NEVER_CALLED = {} as Provider

function environmentFor(content: ConfigFileContent): Readonly<Record<string, string>> {
  return Object.fromEntries([...credentialVariables(content)].map((name) => [name, 'not-needed']))
}

/** At the end or more calls than `most`, which is told by null. `onProgress`: calls that are done, of so many. */
export async function askWhatIf(
  ledger: Pick<LedgerReader, 'list' | 'usage'>,
  { scope, historySince, until, ...question }: WhatIfQuestion,
  onProgress: (done: number, all: number) => void,
  most = Number.POSITIVE_INFINITY,
): Promise<WhatIfReport | null> {
  const filter = { scope, from: historySince, to: until, keyHash: null, model: null, provider: null }
  const all = await countCalls(ledger, filter)
  if (all > most) return null
  const whatIf = new WhatIf(question)
  const slices = new TurnSlices()
  let done = 0
  for await (const rows of rowsInOrder(ledger, filter)) {
    for (const row of rows) {
      whatIf.add(row)
      if (slices.isOver) await slices.next()
    }
    done += rows.length
    onProgress(done, all)
  }
  return whatIf.report()
}
