/**
 * The page's Content-Security-Policy: its own origin only, and in nobody's frame. Labels of runs are anybody's words,
 * and a page elsewhere could otherwise show this one under its own.
 */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
