import sys, json
from   decimal import *
def LoadItems(Path):
  f=open(Path); data=json.load(f); f.close()
  return [item for item in data if item['qty']!=None]
class inventory_report:
    def __init__( self,Items ): self.Items=Items
    def TotalValue(self):
        t=Decimal('0')
        for I in self.Items: t=t+Decimal(str(I['price']))*I['qty']
        return t
maxitems=100
if __name__=='__main__':
    r=inventory_report(LoadItems(sys.argv[1])[:maxitems]); print("Total: "+str(r.TotalValue()))
