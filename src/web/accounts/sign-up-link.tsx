import type { VNode } from 'preact'

/** Returns whether everybody may create an account with a password. The server says so with each page. */
export function isRegistrationOpen(): boolean {
  return document.documentElement.dataset.registration === 'open'
}

/** The way to an account, where everybody may create one. */
export function SignUpLink({ search = '' }: { search?: string }): VNode | null {
  return isRegistrationOpen() ? <a href={`/user/sign_up${search}`}>Create an account</a> : null
}
