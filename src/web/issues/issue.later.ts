// What each visitor of an issue loads after its first view, in one script.
export { Dependencies } from './dependencies.tsx'
export { IssueAdministration } from './issue-administration.tsx'
export { IssueDetails } from './issue-details.tsx'
export { StateForm } from './state-form.tsx'
export { SubIssues } from './sub-issues.tsx'
