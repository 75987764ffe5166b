/** Pages and PDFs are read in the pool. */
import type { DocumentReader, Reading, UnreadDocument } from '../base/document-reader.js'
import { Fault } from '../base/fault.js'
import type { CpuPool, TaskOrder } from '../cpu-pool/pool.js'

/** In the pool's unit, a quarter of a microsecond. Measured: 1.5 to 3 µs for a byte of HTML, less of PDF. */
const COST_PER_BYTE = 8
const MIN_COST = 20_000
/** What a document may take before it is given up. */
const MAX_COST = 20_000_000

export function pooledDocumentReader(pool: CpuPool): DocumentReader {
  return {
    readPage: (page, reading) => settled(() => pool.run('read-html', page, orderOf(page.bytes, reading))),
    readPdf: (pdf, reading) => settled(() => pool.run('read-pdf', pdf, orderOf(pdf.bytes, reading))),
  }
}

function orderOf(bytes: Uint8Array, { organizationId, caller }: Reading): TaskOrder {
  const cost = Math.min(MAX_COST, Math.max(MIN_COST, COST_PER_BYTE * bytes.byteLength))
  return { cost, caller: organizationId, cancellation: caller }
}

/** A full pool throws at once; a document that ends its thread rejects. */
async function settled<Value>(
  run: () => Promise<{ readonly value: Value }>,
): Promise<Value | UnreadDocument> {
  try {
    return (await run()).value
  } catch (error) {
    const isBusy = error instanceof Fault && error.kind === 'unavailable'
    const reason = isBusy
      ? 'cannot be read now: too many documents are being read'
      : 'takes more time or memory to read than a document may'
    return { readable: false, reason, isBusy }
  }
}
