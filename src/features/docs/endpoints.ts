import { practice } from '../../http/dialects/practice.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { bytesReply } from '../../http/reply.js'
import { VIEWER_PAGE, type ViewerAsset, viewerAssets } from './viewer.js'

const operation = endpointGroup({ tag: 'service', dialect: practice })

/** The document and a page that renders it from local files: nothing is fetched from outside. */
export const docsEndpoints = (document: () => string): Endpoint[] => [
  operation('openapi', 'GET /api/v1/openapi.json', {
    summary: 'This document',
    replies: { 200: { description: 'OpenAPI 3.1', schema: { type: 'object' } } },
    handle: () => bytesReply(200, 'application/json', document()),
  }),
  pageEndpoint('docs', '/docs', VIEWER_PAGE),
  ...viewerAssets().map((asset) => pageEndpoint('docs', `/docs/${asset.name}`, asset)),
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

function pageEndpoint(name: string, path: `/${string}`, asset: ViewerAsset): Endpoint {
  return operation(name, `GET ${path}`, {
    summary: 'The documentation page',
    hidden: true,
    replies: { 200: { description: 'A file of the page', mediaType: asset.mediaType } },
    handle: () =>
      bytesReply(200, asset.mediaType, asset.content(), [
        ['Content-Security-Policy', POLICY],
        ['X-Content-Type-Options', 'nosniff'],
      ]),
  })
}
