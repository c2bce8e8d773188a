/** Passcodes are digits, and recovery codes have other characters too. */
export function factorOf(text: string): { passcode: string; recoveryCode: string } {
  const code = text.replaceAll(' ', '')
  return /^\d*$/.test(code)
    ? { passcode: code, recoveryCode: '' }
    : { passcode: '', recoveryCode: code }
}
