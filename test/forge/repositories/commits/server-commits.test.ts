import { describe, expect, it } from 'vitest'
import { loadInstanceKeys } from '../../../../src/forge/accounts/credentials/instance-keys.ts'
import {
  isSshSignatureOf,
  readSshKey,
  readSshSignature,
} from '../../../../src/forge/accounts/keys/ssh-keys.ts'
import { createCommitSigning } from '../../../../src/forge/repositories/commits/server-commits.ts'
import { testApp } from '../../../support/app.ts'

describe('the signing key of the instance', () => {
  it('signs for the namespace of Git only', async () => {
    const { commitSigning } = await testApp()
    const payload = Buffer.from('tree 1\n\nmessage\n')
    const signature = readSshSignature(commitSigning.sign(payload))
    if (!signature) throw new Error('it cannot be read')
    expect(signature.fingerprint).toBe(commitSigning.fingerprint)
    expect(await isSshSignatureOf(signature, 'git', payload)).toBe(true)
    expect(await isSshSignatureOf(signature, 'file', payload)).toBe(false)
    expect(await isSshSignatureOf(signature, 'git', Buffer.from('tree 2\n\nmessage\n'))).toBe(false)
  })

  it('is an OpenSSH key, stable across starts and different on each instance', async () => {
    const [one, other] = [await testApp(), await testApp()]
    const { line, fingerprint } = one.commitSigning
    expect(readSshKey(line)).toMatchObject({ line, fingerprint })
    expect(createCommitSigning(await loadInstanceKeys(one.db, one.clock)).line).toBe(line)
    expect(other.commitSigning.line).not.toBe(line)
  })
})
