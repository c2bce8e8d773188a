/** Ours first, then the names that clients of compatible forges send. */
const PASSCODE_HEADERS = ['x-service-otp', 'x-gitea-otp', 'x-forgejo-otp']

/**
 * The one-time passcode that a client sends beside a password, where the request has no field for
 * it.
 *
 * @returns '' when there is none.
 */
export function readPasscodeHeader(headers: Pick<Headers, 'get'>): string {
  for (const name of PASSCODE_HEADERS) {
    const passcode = headers.get(name)
    if (passcode !== null) return passcode
  }
  return ''
}
