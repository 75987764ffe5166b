import { ItemModel, modelStore } from './store-model.js'
import { storeSuite } from './store-suite.js'

storeSuite({
  name: 'the model itself',
  place: () => {
    const model = new ItemModel()
    return { open: (unixSeconds) => modelStore(model, unixSeconds), remove: () => {} }
  },
})
