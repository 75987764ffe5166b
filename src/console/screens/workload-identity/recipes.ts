/** How the tokens of common platforms look: what to enter, and what to check. */

interface Recipe {
  readonly name: string
  readonly issuerUrl: string
  readonly condition: string
}

export const RECIPES: readonly Recipe[] = [
  {
    name: 'GitHub Actions',
    issuerUrl: 'https://token.actions.githubusercontent.com',
    condition: 'subject.startsWith("repo:acme/app:")',
  },
  {
    name: 'GitLab',
    issuerUrl: 'https://gitlab.com',
    condition: 'subject.startsWith("project_path:acme/app:")',
  },
  {
    name: 'Kubernetes',
    issuerUrl: 'https://kubernetes.example.com',
    condition: 'subject == "system:serviceaccount:default:app"',
  },
  {
    name: 'Google Cloud',
    issuerUrl: 'https://accounts.google.com',
    condition: 'subject == "112233445566778899000"',
  },
  {
    name: 'Azure',
    issuerUrl: 'https://login.microsoftonline.com/TENANT/v2.0',
    condition: 'subject == "00000000-0000-0000-0000-000000000000"',
  },
  {
    name: 'AWS',
    issuerUrl: 'https://ACCOUNT.tokens.sts.global.api.aws',
    condition: 'subject.startsWith("arn:aws:iam::")',
  },
]
