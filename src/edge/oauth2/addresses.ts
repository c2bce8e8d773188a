import type { App } from '../../forge/app.ts'
import { ENDPOINTS } from './discovery.ts'

/** Prompts that a new sign-in satisfies. */
export const SIGN_IN_PROMPTS: readonly string[] = ['login', 'select_account']

/** Returns the address of the authorization endpoint with the query of a request. */
export function authorizeAddress(query: string): string {
  return `${ENDPOINTS.authorize}?${query}`
}

/** Returns the address of a request whose demand for a new sign-in is satisfied. */
export function addressAfterSignIn(query: string): string {
  const parameters = new URLSearchParams(query)
  const prompts = (parameters.get('prompt') ?? '')
    .split(' ')
    .filter((prompt) => prompt !== '' && !SIGN_IN_PROMPTS.includes(prompt))
  parameters.delete('max_age')
  parameters.delete('prompt')
  if (prompts.length > 0) parameters.set('prompt', prompts.join(' '))
  return authorizeAddress(parameters.toString())
}

/**
 * Returns the redirect URI of this server at an identity provider. Each provider has its own, so
 * that none can pass off its codes as those of another one (RFC 9700 section 4.4.2.2).
 */
export function callbackUri(app: App, providerUid: string): string {
  return app.publicUrl() + ENDPOINTS.callback + providerUid
}
