/** What a reader of the document is told before the operations. */
import { VERSION } from '../../base/version.js'
import type { DocumentIntroduction } from '../../http/openapi.js'

/** @param interfaceVersion version of the practice API, which the document carries (contract/practice 1) */
export function documentIntroduction(interfaceVersion: string): DocumentIntroduction {
  const product = `Sluice ${VERSION}; ${interfaceVersion} is the version of the interface.`
  return {
    info: {
      // The title that the practice API's contract gives (contract/practice 1).
      title: 'Load-test practice API',
      version: interfaceVersion,
      description: `${DESCRIPTION}\n\n${product}`,
    },
    tags: TAGS,
  }
}

const DESCRIPTION = `Two faces on one port. The **model gateway** is one API in front of many model providers. The \
**practice API** is a target for load tests: each operation has a load profile of its own. The [guide](/docs/guide) has \
a page for every task.

- **Credential.** Press *Authorize* and enter a key. The first start of the server prints a workspace key, which calls \
models, and a management key, which also manages; \`npx sluice keys create --name NAME\` makes another one. The \
practice API needs none unless the server is told otherwise.
- **Try it.** Every body has examples, which work as they are with the simulated models (\`sim/…\`) that are built in. \
What they name that is yet to be made (an id, a hash) is answered with 404, or 400 where it stands in a body.
- **Errors.** Their form depends on the group: \`detail\` in the practice API, \`error\` with \`code\` and \`message\` in \
the gateway, \`type: error\` in messages, \`error\` and \`error_description\` at the token exchange. \`x-request-id\` \
names the call in the log.
- **Streams.** With \`stream: true\` chat and messages answer with server-sent events. Before the first of them a failure \
has a status of its own, afterwards it is an event.`

/** In the order in which a newcomer meets them. */
const TAGS = [
  { name: 'Chat', description: "Chat completions in OpenAI's format, with every model, streamed or whole." },
  {
    name: 'Messages',
    description: 'The third-party messages format, with every model, and its token count.',
  },
  { name: 'Audio', description: 'Speech to text, and text to speech.' },
  { name: 'Embeddings', description: 'Texts as vectors, over every server that has such models.' },
  { name: 'Files', description: 'Uploads for requests, and downloads of what models have made.' },
  {
    name: 'Models and routing',
    description:
      'Which models and providers there are, what was measured of them, and where a request would go.',
  },
  {
    name: 'Keys',
    description: 'API keys with their limits. They are shown once, and named by their hash afterwards.',
  },
  {
    name: 'Provider keys',
    description:
      'Keys of your own with providers: calls go on your account there, as far as you say. They are kept sealed and never shown.',
  },
  { name: 'Credits and usage', description: 'What was spent, what is left, and what a single call came to.' },
  {
    name: 'Members',
    description: 'The people of an organization and their roles in workspaces, and why they have them.',
  },
  { name: 'Organizations', description: 'Organizations and workspaces; most of it is for the operator.' },
  {
    name: 'Workload identity',
    description:
      'Which tokens of which identity providers may act as a key: issuers, policies, a tester, an audit.',
  },
  {
    name: 'Token exchange',
    description: 'A token of a trusted identity provider for a short-lived access token.',
  },
  {
    name: 'Sign-in',
    description:
      'Sessions of browsers: from a management key, or from an OpenID provider with which members of a directory sign in.',
  },
  { name: 'Directory groups', description: 'Groups of a directory, and the roles they give in workspaces.' },
  {
    name: 'Directory connections',
    description: 'Which identity providers deliver people and groups, their tokens, and what they have sent.',
  },
  {
    name: 'Provisioning',
    description:
      'SCIM 2.0 for identity providers: people and groups, with the token of a connection. Bodies may be sent as `application/json` as well.',
  },
  {
    name: 'Practice API',
    description:
      'A target for load tests: cheap reads, durable writes, a scan, work for the CPU, a slow report.',
  },
  { name: 'Service', description: 'Health, statistics, metrics, machines and this document.' },
] as const
