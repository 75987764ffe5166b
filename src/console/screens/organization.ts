/** What belongs to an organization. The screens of a heading are loaded together: apart they would be a quarter larger. */
export { Screen as Audit } from './audit/audit.tsx'
export { Screen as Credits } from './credits/credits.tsx'
export { Screen as Directory } from './directory/directory.tsx'
export { Screen as Keys } from './keys/keys.tsx'
export { Screen as Members } from './members/members.tsx'
export { Screen as WorkloadIdentity } from './workload-identity/workload-identity.tsx'
export { Screen as Workspaces } from './workspaces/workspaces.tsx'
