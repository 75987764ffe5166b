import { readFileSync } from 'node:fs'
import { BUILT } from '../../base/built-files.js'
import { practice } from '../../http/dialects/practice.js'
import { type Endpoint, endpointGroup, type HeaderList, type Reply } from '../../http/endpoint.js'
import { bytesReply, keptBytes } from '../../http/reply.js'

const operation = endpointGroup({ tag: 'Service', dialect: practice })

/** The document and a page that renders it from local files: nothing is fetched from outside. */
export const docsEndpoints = (document: () => string): Endpoint[] => [
  operation('openapi', 'GET /api/v1/openapi.json', {
    summary: 'This document',
    replies: { 200: { description: 'OpenAPI 3.1', schema: { type: 'object' } } },
    handle: keptReply('application/json', document),
  }),
  pageEndpoint('/docs', 'text/html', () => MARKUP),
  pageEndpoint('/docs/start.js', 'text/javascript', () => START),
  pageEndpoint('/docs/swagger-ui-bundle.js', 'text/javascript', ofViewer('swagger-ui-bundle.js')),
  pageEndpoint('/docs/swagger-ui.css', 'text/css', ofViewer('swagger-ui.css')),
]

/** The page may load what this server serves and nothing else. Swagger UI sets styles inline. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

/** Made at the first request, and the same for all that follow. */
function keptReply(mediaType: string, content: () => string, headers: HeaderList = []): () => Reply {
  let kept: Reply | null = null
  return () => (kept ??= bytesReply(200, mediaType, keptBytes(Buffer.from(content())), headers))
}

function pageEndpoint(path: `/${string}`, type: string, content: () => string): Endpoint {
  const mediaType = `${type}; charset=utf-8`
  return operation('docs', `GET ${path}`, {
    summary: 'The documentation page',
    hidden: true,
    replies: { 200: { description: 'A file of the page', mediaType } },
    handle: keptReply(mediaType, content, [
      ['Content-Security-Policy', POLICY],
      ['X-Content-Type-Options', 'nosniff'],
    ]),
  })
}

/** A file of the viewer, which the build has put beside the programs. */
function ofViewer(name: string): () => string {
  return () => readFileSync(new URL(`pages/${name}`, BUILT), 'utf8')
}

const MARKUP = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice: API documentation</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<style>
@media (max-width: 640px) {
  .swagger-ui .opblock-tag { flex-wrap: wrap }
  .swagger-ui .opblock-tag small { order: 1; flex: 1 0 100%; padding: 4px 0 0 }
}
</style>
</head>
<body>
<div id="viewer"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`

const START = `window.ui = SwaggerUIBundle({
  url: '/api/v1/openapi.json',
  dom_id: '#viewer',
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  displayOperationId: true,
  displayRequestDuration: true,
  validatorUrl: null,
})
`
