import { AccountModel } from './account-model.js'
import { ItemModel, modelStore } from './store-model.js'
import { storeSuite } from './store-suite.js'

storeSuite({
  name: 'the model itself',
  place: () => {
    const model = new ItemModel()
    const accounts = new AccountModel()
    return { open: (unixSeconds) => modelStore(model, unixSeconds, accounts), remove: () => {} }
  },
})
