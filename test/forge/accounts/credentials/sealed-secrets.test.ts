import { describe, expect, it } from 'vitest'
import { open, seal } from '../../../../src/forge/accounts/credentials/sealed-secrets.ts'
import { testApp } from '../../../support/app.ts'

describe('a sealed secret', () => {
  it('can be opened only on the same instance and for the same purpose', async () => {
    const [app, other] = await Promise.all([testApp(), testApp()])
    const sealed = seal(app, 'one', Buffer.from('the secret'))
    expect(open(app, 'one', sealed).toString()).toBe('the secret')
    expect(() => open(app, 'two', sealed)).toThrow()
    expect(() => open(other, 'one', sealed)).toThrow()
  })

  it('reveals neither the secret nor whether two secrets are equal', async () => {
    const app = await testApp()
    const [a, b] = [
      seal(app, 'one', Buffer.from('the secret')),
      seal(app, 'one', Buffer.from('the secret')),
    ]
    expect(a.includes('the secret')).toBe(false)
    expect(a.equals(b)).toBe(false)
  })

  it('may be empty', async () => {
    const app = await testApp()
    expect(open(app, 'one', seal(app, 'one', Buffer.alloc(0)))).toHaveLength(0)
  })

  it('cannot be opened after any byte was changed or removed', async () => {
    const app = await testApp()
    const sealed = seal(app, 'one', Buffer.from('the secret'))
    for (const [i, byte] of sealed.entries()) {
      const changed = Buffer.from(sealed)
      changed[i] = byte ^ 1
      expect(() => open(app, 'one', changed)).toThrow()
    }
    for (const length of [0, 11, 12, 27, 28, sealed.length - 1]) {
      expect(() => open(app, 'one', sealed.subarray(0, length))).toThrow()
    }
  })
})
