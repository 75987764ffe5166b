/** Common platforms: how their tokens look, and how a job gets one and exchanges it. */
import { apiUrl } from '../command.ts'
import { firstCall } from '../generations/wire.ts'
import type { Policy } from './wire.ts'

export interface Recipe {
  readonly name: string
  /** `<…>` stands for what is one's own; no such text is part of a real URL or subject. */
  readonly issuerUrl: string
  readonly subject: string
  readonly condition: string
  /** What gives a job its token, as shell; for some a line of configuration does. */
  readonly token: (audience: string) => string
  /** What stands around the shell. */
  readonly job?: (shell: string, audience: string) => string
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
const inUrl = (text: string): string => encodeURIComponent(text).replaceAll("'", '%27')
const indented = (text: string, by: number): string => text.replaceAll(/^/gm, ' '.repeat(by))

export const RECIPES: readonly Recipe[] = [
  {
    name: 'GitHub Actions',
    issuerUrl: 'https://token.actions.githubusercontent.com',
    subject: 'repo:<owner>/<repository>:ref:refs/heads/main',
    condition: 'subject.startsWith("repo:acme/app:")',
    token: (audience) =>
      `TOKEN=$(curl -s -H "Authorization: Bearer $ACTIONS_ID_TOKEN_REQUEST_TOKEN" \\
  "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=${inUrl(audience)}" | jq -er .value)`,
    job: (shell) => `# .github/workflows/ask.yml
on: { push: { branches: [main] } }
permissions: { id-token: write }
jobs:
  ask:
    runs-on: ubuntu-latest
    steps:
      - run: |
${indented(shell, 10)}`,
  },
  {
    name: 'GitLab',
    issuerUrl: 'https://gitlab.com',
    subject: 'project_path:<group>/<project>:ref_type:branch:ref:main',
    condition: 'subject.startsWith("project_path:acme/app:")',
    token: () => '',
    job: (shell, audience) => `# .gitlab-ci.yml
ask:
  id_tokens: { TOKEN: { aud: ${JSON.stringify(audience)} } }
  script:
    - |
${indented(shell, 6)}`,
  },
  {
    name: 'Kubernetes',
    issuerUrl: 'https://<issuer of the cluster>',
    subject: 'system:serviceaccount:<namespace>:<account>',
    condition: 'subject.startsWith("system:serviceaccount:prod:")',
    token: () => 'TOKEN=$(cat /var/run/sluice/token)',
    job: (shell, audience) => `# In the pod, mounted at /var/run/sluice:
#   projected: { sources: [{ serviceAccountToken: { audience: ${JSON.stringify(audience)}, path: token } }] }
${shell}`,
  },
  {
    name: 'Google Cloud',
    issuerUrl: 'https://accounts.google.com',
    subject: '<numeric id of the service account>',
    condition: 'subject in ["108012345678901234567"]',
    token: (audience) =>
      `TOKEN=$(curl -s -H 'Metadata-Flavor: Google' \\
  'http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/identity?audience=${inUrl(audience)}')`,
  },
  {
    name: 'Azure',
    issuerUrl: 'https://login.microsoftonline.com/<tenant>/v2.0',
    subject: '<object id of the managed identity>',
    condition: 'subject == "00000000-0000-0000-0000-000000000000"',
    token: (audience) =>
      `TOKEN=$(curl -s -H Metadata:true \\
  'http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=${inUrl(audience)}' | jq -er .access_token)`,
  },
  {
    name: 'AWS',
    issuerUrl: 'https://<account>.tokens.sts.global.api.aws',
    subject: 'arn:aws:iam::<account>:role/<role>',
    condition: 'subject.startsWith("arn:aws:iam::123456789012:role/llm-")',
    token: (audience) =>
      `TOKEN=$(aws sts get-web-identity-token --audience ${quoted(audience)} --signing-algorithm RS256 \\
  --duration-seconds 300 --query WebIdentityToken --output text)`,
  },
]

/** The platform whose tokens have this issuer; undefined for one without a recipe. */
export function recipeFor(issuerUrl: string | undefined): Recipe | undefined {
  const fits = (pattern: string): boolean => {
    const [begin = '', end] = pattern.split(/<.*>/)
    if (begin === 'https://' && end === '') return false
    return end === undefined
      ? issuerUrl === pattern
      : issuerUrl!.startsWith(begin) && issuerUrl!.endsWith(end)
  }
  return issuerUrl === undefined ? undefined : RECIPES.find((each) => fits(each.issuerUrl))
}

/** What a job does that acts by a policy: on a platform, or, without one, with a token that it has already. */
export function jobOf(recipe: Recipe | undefined, { id, audience }: Policy): string {
  const shell = `${recipe === undefined ? '# TOKEN holds the token of the job' : recipe.token(audience)}
ACCESS=$(curl -s ${apiUrl('/v1/oauth/token')} \\
  -d grant_type=urn:ietf:params:oauth:grant-type:token-exchange \\
  -d subject_token_type=urn:ietf:params:oauth:token-type:jwt \\
  -d federation_policy_id=${id} --data-urlencode "subject_token=$TOKEN" | jq -er '.access_token // error(.error_description)')
${firstCall('ACCESS')}`.trim()
  return recipe?.job?.(shell, audience) ?? shell
}
