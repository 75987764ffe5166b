import { audioUpload } from './audio-upload.js'
import { counters } from './counters.js'
import { creditsExact } from './credits-exact.js'
import { federationBeside } from './federation-beside.js'
import { federationConditions } from './federation-conditions.js'
import { federationFuzz } from './federation-fuzz.js'
import { federationKids } from './federation-kids.js'
import { federationRefusals } from './federation-refusals.js'
import { federationRemovedKey } from './federation-removed-key.js'
import { federationRotation } from './federation-rotation.js'
import { federationStampede } from './federation-stampede.js'
import { filesDownload } from './files-download.js'
import { filesUpload } from './files-upload.js'
import { gatewayAgentConversation } from './gateway-agent-conversation.js'
import { gatewayKeyDisable } from './gateway-key-disable.js'
import { gatewayLatency } from './gateway-latency.js'
import { gatewayLeaving } from './gateway-leaving.js'
import { gatewayPaced } from './gateway-paced.js'
import { gatewaySlowReaders } from './gateway-slow-readers.js'
import { healthUnderHash } from './health-under-hash.js'
import { healthUnderSearch } from './health-under-search.js'
import { idleCrowd } from './idle-crowd.js'
import { killGroup } from './kill-group.js'
import { killWorker } from './kill-worker.js'
import { ledgerKill } from './ledger-kill.js'
import { overload } from './overload.js'
import { rateLimitWindow } from './rate-limit-window.js'
import { report } from './report.js'
import { routingBreaker } from './routing-breaker.js'
import { routingSession } from './routing-session.js'
import { sigterm } from './sigterm.js'
import type { Trial } from './trial.js'

/** Every trial, in the order of a full run. */
export const CATALOGUE: readonly Trial[] = [
  killWorker,
  killGroup,
  sigterm,
  overload,
  report,
  idleCrowd,
  counters,
  healthUnderHash,
  healthUnderSearch,
  gatewayLatency,
  gatewayPaced,
  gatewayLeaving,
  gatewaySlowReaders,
  gatewayKeyDisable,
  gatewayAgentConversation,
  federationBeside,
  federationStampede,
  federationKids,
  federationRotation,
  federationRemovedKey,
  federationRefusals,
  federationConditions,
  federationFuzz,
  filesDownload,
  filesUpload,
  audioUpload,
  creditsExact,
  rateLimitWindow,
  ledgerKill,
  routingBreaker,
  routingSession,
]
